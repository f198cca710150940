package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Strand is one of the trials of a round that take turns.
type Strand struct {
	Variant plan.Variant
	Control bool // the second one of a baseline in this round
}

// Weaver is a Bench that can run all trials of a round under one load, in turns. Compare asks it to when the plan's
// Trials.Turns says so.
type Weaver interface {
	Bench
	// Weave does for all strands of a round together what Trial does for one, and returns their trials in the order of
	// strands. An error of type *Unusable means that none of them will ever run; a trial that is returned with Unusable
	// set, with Invalid saying why, that its variant will not. A round that broke is returned with Invalid set in all
	// of its trials.
	Weave(ctx context.Context, round int, strands []Strand, p plan.Plan, sink progress.Sink) ([]trial.Trial, error)
}

// weaverOf returns the bench when the rounds of this experiment are woven, else nil.
func weaverOf(bench Bench, p plan.Plan) Weaver {
	if p.Trials.Turns <= 0 {
		return nil
	}
	w, _ := bench.(Weaver)
	return w
}

// order returns the keys of a round in the order of their trials. Trials that are woven have none, but pairs are judged
// as if one of them had been first, and a drift is allowed for where one side was so more often: they alternate, so
// that none is.
func (x *comparison) order(round int, keys []string) []string {
	if weaverOf(x.bench, x.p) == nil {
		return x.p.Order(round, keys)
	}
	out := slices.Sorted(slices.Values(keys))
	if round%2 == 0 {
		slices.Reverse(out)
	}
	return out
}

// weave runs the trials of one round in turns, again when one of them is missing or invalid: what is compared has had
// the same load.
func (x *comparison) weave(ctx context.Context, w Weaver, round int, order []string) error {
	for try := range attempts {
		var strands []Strand
		missing := false
		for _, key := range order {
			v, isControl := x.place(round, key, order)
			if x.gone(v, round) {
				continue
			}
			strands = append(strands, Strand{v, isControl})
			had, valid := hadOf(x.trials, round, v.Key, isControl)
			missing = missing || !valid && had <= try
		}
		if !missing {
			continue
		}
		if err := x.woven(ctx, w, round, strands, try > 0); err != nil {
			return err
		}
	}
	return nil
}

// woven carries out the trials of one round together and puts them on record.
func (x *comparison) woven(ctx context.Context, w Weaver, round int, strands []Strand, again bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var next time.Duration
	for _, s := range strands {
		next += x.expect(s.Variant.Key)
	}
	if err := x.afford(next); err != nil {
		return err
	}
	if x.o.Begin != nil {
		first := x.begin(seqOf(x.trials), round, strands[0].Variant.Key, strands[0].Control, again)
		for i, s := range strands {
			b := first
			b.Seq, b.N, b.Variant, b.Control = b.Seq+i, b.N+i, s.Variant.Key, s.Control
			x.o.Begin(b)
		}
	}
	before := x.clock.now()
	ts, err := w.Weave(ctx, round, strands, x.p, x.o.Progress)
	after := x.clock.now()
	if ctx.Err() != nil && (err != nil || slices.ContainsFunc(ts, func(t trial.Trial) bool {
		return t.Invalid != ""
	})) {
		return context.Cause(ctx)
	}
	var unusable *Unusable
	switch {
	case errors.As(err, &unusable): // it is said once of each variant
		var of []Strand
		for _, s := range strands {
			if !slices.ContainsFunc(of, func(o Strand) bool { return o.Variant.Key == s.Variant.Key }) {
				of = append(of, s)
			}
		}
		strands, ts = of, make([]trial.Trial, len(of))
	case err != nil:
		return fmt.Errorf("round %d: %w", round, err)
	case len(ts) != len(strands):
		return fmt.Errorf("round %d: %d trials for %d strands", round, len(ts), len(strands))
	}
	each := (after.running - before.running) / time.Duration(len(strands))
	broken := 0
	for i, s := range strands {
		t, err := x.finish(ts[i], seqOf(x.trials), round, s.Variant, s.Control, err, before, after)
		if err != nil {
			return err
		}
		if t.Invalid != "" {
			broken++
		}
		if err := x.keep(ctx, t, each); err != nil {
			return err
		}
	}
	last := x.trials[len(x.trials)-1]
	if broken < len(strands) {
		last.Invalid = ""
	}
	return x.stuck(last, false)
}
