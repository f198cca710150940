package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
)

// round runs the trials of one round that are not on record, in the given order, and repeats those that were invalid.
func (x *comparison) round(ctx context.Context, round int, order []string) error {
	if w := weaverOf(x.bench, x.p); w != nil {
		return x.weave(ctx, w, round, order)
	}
	for try := range attempts {
		for _, key := range order {
			v, isControl := x.place(round, key, order)
			if x.gone(v, round) {
				continue
			}
			had, valid := hadOf(x.trials, round, v.Key, isControl)
			if valid || had > try {
				continue
			}
			if err := x.trial(ctx, round, v, isControl, try > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone reports whether v is not to run in a round: it was closed within the round or is needed by none that is open, or
// that was so in a round that was complete before the experiment was interrupted. There is no way back to such a round;
// in the one that was under way the variant is tried once more.
func (x *comparison) gone(v plan.Variant, round int) bool {
	if !slices.Contains(x.keys(), v.Key) {
		return true
	}
	return round < x.last && slices.ContainsFunc(x.trials, func(t trial.Trial) bool {
		return t.Unusable && t.Round <= round && (t.Variant == v.Key || t.Variant == v.Baseline)
	})
}

// hadOf counts what is on record of one trial. That a variant was unusable is no attempt.
func hadOf(trials []trial.Trial, round int, key string, control bool) (n int, valid bool) {
	for _, t := range trials {
		if t.Round == round && t.Variant == key && t.Control == control && !t.Unusable {
			n++
			valid = valid || t.Invalid == ""
		}
	}
	return n, valid
}

// trial carries out one trial and puts it on record.
func (x *comparison) trial(ctx context.Context, round int, v plan.Variant, control, again bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := x.afford(x.expect(v.Key)); err != nil {
		return err
	}
	seq := seqOf(x.trials)
	if x.o.Begin != nil {
		x.o.Begin(x.begin(seq, round, v.Key, control, again))
	}
	before := x.clock.now()
	t, err := x.bench.Trial(ctx, v, x.p, control, x.o.Progress)
	after := x.clock.now()
	if ctx.Err() != nil && (err != nil || t.Invalid != "") { // cut short, or its server got the same signal
		return context.Cause(ctx)
	}
	if t, err = x.finish(t, seq, round, v, control, err, before, after); err != nil {
		return err
	}
	if err := x.keep(ctx, t, after.running-before.running); err != nil {
		return err
	}
	return x.stuck(t, true)
}

// seqOf is the number of the next trial.
func seqOf(trials []trial.Trial) int {
	if n := len(trials); n > 0 {
		return trials[n-1].Seq + 1
	}
	return 1
}

// finish completes what a bench has said of a trial. Its error ends the experiment.
func (x *comparison) finish(t trial.Trial, seq, round int, v plan.Variant, control bool, err error, before,
	after instant,
) (trial.Trial, error) {
	t.Seq, t.Round, t.Variant, t.Control = seq, round, v.Key, control
	if t.From.IsZero() || t.To.IsZero() { // it broke before it began
		t.From, t.To = before.wall, after.wall
		t.Setup, t.Warm = 0, 0
	}
	t.From, t.To = t.From.Round(0), t.To.Round(0)
	var unusable *Unusable
	switch {
	case errors.As(err, &unusable):
		t.Unusable, t.Invalid = true, cmp.Or(unusable.Error(), "it cannot be measured")
		t.Control = false // it is said of the variant, wherever it showed
	case err != nil:
		return t, fmt.Errorf("trial %d, %s: %w", seq, v.Key, err)
	case t.Unusable:
		t.Control, t.Invalid = false, cmp.Or(t.Invalid, "it cannot be measured")
	case t.Invalid == "":
		t.Invalid = before.parted(after)
	}
	t.Unusable = t.Unusable || t.Invalid != "" && x.hopeless(t)
	return numbers(t), nil
}

// keep puts a trial that took so long on record.
func (x *comparison) keep(ctx context.Context, t trial.Trial, took time.Duration) error {
	if x.rec != nil {
		// Who ends the experiment at this moment has the trial nevertheless.
		if err := x.rec.Put(context.WithoutCancel(ctx), t); err != nil {
			return fmt.Errorf("record trial %d, %s: %w", t.Seq, t.Variant, err)
		}
	}
	x.trials = append(x.trials, t)
	x.took(t, took)
	if x.o.End != nil {
		x.o.End(t)
	}
	if t.Unusable {
		closeAfter(x.closed, x.vs, t.Variant, t.Invalid)
	}
	return nil
}

// hopeless reports whether an invalid trial is the last that its variant is given: nothing valid came out of the rounds
// before, either.
func (x *comparison) hopeless(t trial.Trial) bool {
	if t.Control {
		return false
	}
	for round := t.Round; round > t.Round-hopeless; round-- {
		had, valid := hadOf(x.trials, round, t.Variant, false)
		if round == t.Round {
			had++
		}
		if had < attempts || valid {
			return false
		}
	}
	return true
}

// numbers takes out what is none: JSON has no word for it.
func numbers(t trial.Trial) trial.Trial {
	var bad []string
	for name, v := range t.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return t
	}
	slices.Sort(bad)
	t.Values, t.Warnings = maps.Clone(t.Values), slices.Clone(t.Warnings)
	for _, name := range bad {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s is %v, which is not a number", name, t.Values[name]))
		delete(t.Values, name)
	}
	return t
}

// closeAfter ends the trials of a variant and of those that are compared with it.
func closeAfter(closed map[string]string, vs []plan.Variant, key, why string) {
	closed[key] = why
	for _, v := range vs {
		if v.Baseline == key && v.Key != key && closed[v.Key] == "" {
			closed[v.Key] = fmt.Sprintf("its baseline, %s, cannot be measured: %s", key, why)
		}
	}
}

// stuck ends the experiment when trial after trial, or round after woven round, fails in the same way, whatever the
// variant. alone says that t was the trial of its variant only.
func (x *comparison) stuck(t trial.Trial, alone bool) error {
	if t.Invalid == "" {
		x.inARow = nil
		return nil
	}
	if n := len(x.inARow); n > 0 && alike(x.inARow[n-1].Invalid) != alike(t.Invalid) {
		x.inARow = nil
	}
	x.inARow = append(x.inARow, t)
	if len(x.inARow) < maxBroken {
		return nil
	}
	if alone && len(x.vs) > 1 && !slices.ContainsFunc(x.inARow, func(o trial.Trial) bool {
		return o.Variant != t.Variant
	}) {
		return nil // it may be the variant
	}
	return fmt.Errorf("%w, the last %d in the same way: %s", ErrStuck, len(x.inARow), t.Invalid)
}

// alike reduces a reason to what two of the same kind have in common: not their numbers.
func alike(reason string) string {
	return strings.Join(strings.FieldsFunc(reason, func(r rune) bool {
		return unicode.IsDigit(r) ||
			r == '.' || r == ','
	}), "#")
}
