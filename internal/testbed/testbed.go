// Package testbed is the testbed of an experiment: it runs one trial of one variant. It provides
// the server, restores its data, applies placement and limits, warms it up, loads it and measures.
// It implements the Bench of package experiment. It does not choose trials or evaluate them.
//
// At most one server of a testbed runs at a time. The plan's Trials.Fresh defines the state in
// which a trial begins. Data are prepared once, stored as a data set of the Yard, and copied or
// restored from there.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Testbed carries out trials. It is used by one goroutine at a time.
type Testbed struct {
	Yard      *sandbox.Yard
	Name      string              // of the experiment: its sandboxes are called Name-1, Name-2…
	Workloads []workload.Workload // that plans may name
	// Loading returns a server that was reached as what can be loaded.
	Loading func(*target.Target) load.Server
	Note    func(string) // what happens beside the measurement, in a sentence; may be nil

	places  []*place
	current *place            // whose server runs, nil when none does
	turns   map[string]uint64 // trials so far, by variant
	live    *live             // the load that goes on between trials, nil when none does
	speed   *speed            // nil before it is first needed
	swept   bool              // what a process that was killed left of this experiment is gone
	cpus    *cpus             // nil before the first trial
}

// Trial runs one trial of v. Its error is an *experiment.Unusable when this variant can never run, and ctx's when that
// ended. Whatever spoils the measurement alone is told by Trial.Invalid.
func (s *Testbed) Trial(ctx context.Context, v plan.Variant, p plan.Plan, control bool,
	sink progress.Sink,
) (t trial.Trial, err error) {
	began := time.Now()
	turn := v.Key
	if control {
		turn += " control"
	}
	if s.turns == nil {
		s.turns = map[string]uint64{}
	}
	s.turns[turn]++
	t = trial.Trial{Values: map[string]float64{}, Texts: map[string]string{}}
	if err := s.place(p.Placement, &t); err != nil {
		return t, err
	}
	if err := s.sweep(ctx); err != nil {
		return t, err
	}
	j, err := s.job(v, p)
	if err != nil {
		return t, &experiment.Unusable{Reason: err.Error()}
	}
	pl, err := s.provide(ctx, j, sink)
	if err != nil {
		return t, unusable(ctx, err)
	}
	spec := pl.box.Spec()
	spec.Name = "sandbox:" + pl.name
	tgt, err := target.Open(ctx, spec)
	if err != nil {
		return t, unusable(ctx, err)
	}
	defer tgt.Close()
	defer func() {
		undo := context.WithoutCancel(ctx)
		if e := takeSteps(undo, tgt, pl, j, j.config.After); e != nil && err == nil && t.Invalid == "" {
			t.Invalid = "after the trial: " + e.Error()
		}
	}()
	if err := pl.assign(ctx, tgt, j.config.Set); err != nil {
		return t, unusable(ctx, err)
	}
	if err := takeSteps(ctx, tgt, pl, j, j.config.Before); err != nil {
		return t, unusable(ctx, err)
	}
	if err := calm(ctx, tgt, pl, p, &t); err != nil {
		return t, unusable(ctx, err)
	}
	t.Env = environmentOf(ctx, s.cpus, tgt, pl, &t)
	t.Setup = time.Since(began).Seconds()
	switch {
	case j.run != nil && j.fresh == plan.FreshLive:
		err = s.goOn(ctx, tgt, pl, j, p, &t, sink)
	case j.run != nil:
		s.endLive()
		err = s.load(ctx, tgt, pl, j, p, s.turns[turn], &t, sink)
	case len(j.config.Probe) > 0:
		err = probe(ctx, tgt, j, &t)
	default:
		t.From = time.Now()
		t.To = t.From
	}
	if err == nil {
		err = readAll(ctx, s.cpus, tgt, j, &t)
	}
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if !pl.alive() {
		t.Invalid = "the server ended during the trial: " + pl.last(s.Yard)
		return t, nil
	}
	return t, err
}

// unusable turns the failure of a preparation into the end of a variant.
func unusable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u := (*experiment.Unusable)(nil); errors.As(err, &u) {
		return err
	}
	// The disk that fills and the lock that somebody holds are no property of the variant.
	if errors.Is(err, sandbox.ErrNoSpace) || errors.Is(err, sandbox.ErrBusy) || errors.Is(err, sandbox.ErrAccount) {
		return err
	}
	return &experiment.Unusable{Reason: describe(err)}
}

// describe returns an error with its hint.
func describe(err error) string {
	hint := endpoint.HintOf(err)
	var server *endpoint.Error
	if errors.As(err, &server) {
		hint = target.HintOf(err)
	}
	if hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// Close ends the stand's servers and removes its sandboxes; data sets stay. The CPUs of this process are as before.
func (s *Testbed) Close(ctx context.Context) error {
	var errs []error
	s.endLive()
	if s.speed != nil {
		s.speed.meter.Stop()
		s.speed = nil
	}
	for _, p := range s.places {
		if p.box.Name == "" {
			continue
		}
		if err := s.Yard.Remove(ctx, p.name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	s.places, s.current = nil, nil
	if s.cpus != nil {
		errs = append(errs, host.Pin(s.cpus.before))
		runtime.GOMAXPROCS(s.cpus.procs)
		s.cpus = nil
	}
	return errors.Join(errs...)
}

func (s *Testbed) note(format string, args ...any) {
	if s.Note != nil {
		s.Note(fmt.Sprintf(format, args...))
	}
}
