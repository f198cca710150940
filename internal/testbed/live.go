package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/trial"
)

// live is a load that goes on from one trial to the next.
type live struct {
	key    string // what it runs, and where
	server load.Server
	cancel context.CancelFunc
	ticks  chan loadresult.Tick
	loom   *loom // it is told of every operation; nil unless variants take turns
	done   chan struct{}
	run    loadresult.Run // when done
	err    error          // likewise
}

// endLive stops the load that goes on, if there is one, and waits for its end.
func (s *Testbed) endLive() {
	if s.live == nil {
		return
	}
	s.live.cancel()
	for range s.live.ticks { // until it is closed
	}
	<-s.live.done
	s.live.server.Close()
	s.live = nil
}

// begin starts the job's load on the server of p unless it runs already, woven for variants that take turns.
func (s *Testbed) begin(ctx context.Context, p *place, j *job, woven bool) error {
	c := j.config.Run
	key := fmt.Sprintf("%t %d %q %v %d %s %v", woven, p.box.PID, c.Workload, j.runWith, c.Threads, c.PSMode, c.Ignore)
	if s.live != nil {
		select {
		case <-s.live.done: // it broke off
		default:
			if s.live.key == key {
				return nil
			}
		}
		s.endLive()
	}
	srv, err := j.servers.OpenLoad(ctx, p.box.Spec())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it ends with endLive
	l := &live{key: key, server: srv, cancel: cancel, ticks: make(chan loadresult.Tick, 64), done: make(chan struct{})}
	cfg := configOf(s.cpus, j, 1)
	if woven {
		l.loom = newLoom()
		cfg.Ended = l.loom.add
	}
	go func() {
		defer close(l.done)
		defer close(l.ticks)
		l.run, l.err = srv.Run(ctx, cfg, func(x loadresult.Tick) {
			for {
				select {
				case l.ticks <- x:
					return
				default:
				}
				select { // nobody reads between trials: the oldest is of no use any more
				case <-l.ticks:
				default:
				}
			}
		})
	}()
	s.live = l
	return nil
}

// goOn measures under the load that goes on. The tick during which the variant was put in force belongs to nobody.
func (s *Testbed) goOn(ctx context.Context, t family.TrialServer, p *place, j *job, pl plan.Plan, tr *trial.Trial,
	sink progress.Sink,
) error {
	if err := s.begin(ctx, p, j, false); err != nil {
		return err
	}
	w := newWindow(pl.Trials)
	m := s.meter(t, p, j, tr)
	since := time.Now()
	prog := progress.Progress{Step: "measuring", Unit: "s", Started: since, Total: (w.warmMin + w.time).Seconds()}
	patience := time.NewTimer(w.longest() + time.Minute)
	defer patience.Stop()
	if w.open {
		m.begin(ctx)
	}
	for end := false; !end; {
		var tick loadresult.Tick
		more := true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			tr.Invalid = "the load made no progress"
			return nil
		case tick, more = <-s.live.ticks:
		}
		if !more {
			<-s.live.done
			err := s.live.err
			if err == nil {
				err = errors.New("it ended on its own")
			}
			if s.live.run.Elapsed == 0 && p.alive() {
				return &experiment.Unusable{Reason: describe(err)}
			}
			tr.Invalid = "the load broke off: " + describe(err)
			return nil
		}
		if tick.At.Before(since) {
			if w.open && len(s.live.ticks) == 0 { // what counts begins with the next one
				m.begin(ctx)
			}
			continue
		}
		var begin bool
		if begin, end = w.add(tick); begin {
			m.begin(ctx)
		}
		prog.Done, prog.At = (span(w.warm) + span(w.in)).Seconds(), time.Now()
		sink.Report(prog)
	}
	m.end(ctx)
	for _, x := range w.in {
		for k, n := range x.Errors {
			if tr.Errors == nil {
				tr.Errors = map[string]uint64{}
			}
			tr.Errors[k] += n
		}
	}
	sumUp(s.cpus, w, m, j, tr)
	return nil
}
