package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
)

// ErrStuck is the end of an experiment whose trials fail one after the other for a reason that is none of the
// variants'.
var ErrStuck = errors.New("trials fail one after the other")

const (
	attempts  = 2 // at a trial of a round: an invalid one is repeated once
	maxBroken = 3 // in a row for the same reason; then something is broken that does not heal by itself
	hopeless  = 2 // rounds running in which a variant had no valid trial make it unusable
)

// Compare carries out the plan: in each round every variant still open, with its baseline, and one baseline once more
// as the control, in the plan's random order. Each trial is put on record before the next begins. After a round the
// variants that are decided are closed; the experiment ends when none is open, after the last round, or before a trial
// that would end later than the budget allows.
//
// earlier are the trials on record of an experiment that was interrupted. They are not repeated: a trial is the same
// one when round, variant and control are. A variant that could not be measured then is tried once more.
//
// An invalid trial is repeated once at the end of its round, and the first valid one counts. A variant that is
// unusable, or had no valid trial in two rounds running, is closed, and with a baseline the variants that need it; the
// others go on.
//
// The result holds what was measured also when there is an error: ctx's when it ended (the trial under way is dropped),
// ErrStuck, the Recorder's or the Bench's. Stopped then says why, and the experiment can be resumed. ID, PlanText and
// Dyno are the caller's to fill in. rec may be nil: then nothing is kept.
func Compare(ctx context.Context, p plan.Plan, vs []plan.Variant, earlier []trial.Trial, b Bench, rec Recorder,
	o Observer,
) (trial.Result, error) {
	return (&comparison{p: p, vs: vs, bench: b, rec: rec, o: o, clock: machineClock{time.Now()}}).run(ctx, earlier)
}

// comparison is an experiment being carried out.
type comparison struct {
	p     plan.Plan
	vs    []plan.Variant
	bench Bench
	rec   Recorder
	o     Observer
	clock clock

	began   instant
	started time.Time         // of the experiment, in an earlier process perhaps
	spent   time.Duration     // on trials of earlier processes
	lasted  map[string]lasted // by variant
	trials  []trial.Trial     // in order
	last    int               // the round in which earlier trials ended
	decided map[string]bool   // by variant: it needs no more rounds
	closed  map[string]string // by variant: why it cannot be measured
	inARow  []trial.Trial     // the failing ones until now
}

func (x *comparison) run(ctx context.Context, earlier []trial.Trial) (trial.Result, error) {
	x.began = x.clock.now()
	x.started = x.began.wall
	x.lasted, x.decided, x.closed = map[string]lasted{}, map[string]bool{}, map[string]string{}
	err := checkVariants(x.p, x.vs)
	if err == nil {
		err = x.resume(earlier)
	}
	if err != nil {
		return trial.Result{Format: trial.Format, Plan: x.p, Variants: x.vs, Trials: earlier, Stopped: err.Error()}, err
	}
	x.announce()
	for round := 1; round <= x.p.Trials.Max; round++ {
		keys := x.keys()
		if len(keys) == 0 {
			break
		}
		if err := x.round(ctx, round, x.order(round, keys)); err != nil {
			var over *overBudget
			if errors.As(err, &over) {
				return x.result(over.Error()), nil
			}
			if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
				return x.result("it was interrupted"), err
			}
			return x.result(err.Error()), err
		}
		x.judge(round)
	}
	return x.result(x.nothing()), nil
}

// checkVariants names everything that is wrong with what the caller gave.
func checkVariants(p plan.Plan, vs []plan.Variant) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	keys := map[string]bool{}
	for _, v := range vs {
		if keys[v.Key] {
			wrong("variant %s is given twice", v.Key)
		}
		keys[v.Key] = true
	}
	for _, v := range vs {
		if !keys[v.Baseline] {
			wrong("the baseline of %s, %q, is none of the variants", v.Key, v.Baseline)
		} else if b := variantOf(vs, v.Baseline); b.Baseline != b.Key {
			wrong("the baseline of %s, %s, is itself compared with another variant", v.Key, b.Key)
		}
	}
	if len(vs) == 0 {
		wrong("it has no variants")
	}
	if t := p.Trials; t.Min < 1 || t.Max < t.Min {
		wrong("%d to %d rounds: at least one is needed", t.Min, t.Max)
	}
	if len(errs) > 0 {
		return fmt.Errorf("start the experiment: %w", errors.Join(errs...))
	}
	return nil
}

// resume takes over the trials of an earlier process.
func (x *comparison) resume(earlier []trial.Trial) error {
	x.trials = slices.SortedFunc(slices.Values(earlier), func(a, b trial.Trial) int { return a.Seq - b.Seq })
	for i, t := range x.trials {
		if !slices.ContainsFunc(x.vs, func(v plan.Variant) bool { return v.Key == t.Variant }) {
			return fmt.Errorf("resume the experiment: trial %d is one of %s, which the plan does not have: was it "+
				"changed? resume with the plan as it was, or start a new experiment",
				t.Seq, t.Variant)
		}
		if i > 0 && t.Seq == x.trials[i-1].Seq {
			return fmt.Errorf("resume the experiment: there are two trials with the number %d", t.Seq)
		}
		x.last = max(x.last, t.Round)
		x.spent += length(t)
		x.took(t, length(t))
	}
	if len(x.trials) > 0 {
		x.started = begun(x.trials[0])
	}
	return nil
}

// length is how long a trial on record took, as far as it tells.
func length(t trial.Trial) time.Duration {
	return max(0, shared(t, t.To.Sub(begun(t)).Seconds()))
}

// shared is the part of some seconds of a round that one of its trials stands for: all of it, unless they took turns.
func shared(t trial.Trial, seconds float64) time.Duration {
	if t.Woven != nil && t.Woven.Of > 1 {
		seconds /= float64(t.Woven.Of)
	}
	return time.Duration(seconds * float64(time.Second))
}

// begun is when the setup of a trial began.
func begun(t trial.Trial) time.Time {
	return t.From.Add(-time.Duration((t.Setup + t.Warm) * float64(time.Second)))
}

// keys lists what the next round consists of: the open variants and their baselines in the plan's order, and the
// control.
func (x *comparison) keys() []string {
	in := map[string]bool{}
	for _, v := range x.vs {
		if x.open(v) {
			in[v.Key], in[v.Baseline] = true, true
		}
	}
	var keys []string
	for _, v := range x.vs {
		if in[v.Key] {
			keys = append(keys, v.Key)
		}
	}
	if len(keys) > 0 && !x.p.Trials.NoControl {
		keys = append(keys, plan.Control)
	}
	return keys
}

// open reports whether v needs trials for its own sake. A baseline that others are compared with runs for theirs.
func (x *comparison) open(v plan.Variant) bool {
	if x.decided[v.Key] || x.closed[v.Key] != "" || x.closed[v.Baseline] != "" {
		return false
	}
	return v.Baseline != v.Key || !needed(x.vs, v.Key)
}

// needed reports whether others are compared with a variant.
func needed(vs []plan.Variant, key string) bool {
	return slices.ContainsFunc(vs, func(o plan.Variant) bool { return o.Baseline == key && o.Key != key })
}

// controlOf returns the variant that is run twice in a round: with several baselines each in its turn, as long as it
// runs.
func controlOf(trials []trial.Trial, vs []plan.Variant, round int, keys []string) plan.Variant {
	for _, t := range trials {
		if t.Control && t.Round == round {
			return variantOf(vs, t.Variant)
		}
	}
	var bs []plan.Variant
	for _, v := range vs {
		if v.Baseline == v.Key && slices.Contains(keys, v.Key) {
			bs = append(bs, v)
		}
	}
	return bs[(round-1)%len(bs)]
}

// place returns which variant a key of a round stands for, and whether it is the control.
func (x *comparison) place(round int, key string, keys []string) (v plan.Variant, control bool) {
	if key == plan.Control {
		return controlOf(x.trials, x.vs, round, keys), true
	}
	return variantOf(x.vs, key), false
}

// variantOf returns the variant of a key.
func variantOf(vs []plan.Variant, key string) plan.Variant {
	return vs[slices.IndexFunc(vs, func(v plan.Variant) bool { return v.Key == key })]
}

// nothing says why nothing is left to compare; empty when the experiment came to its end.
func (x *comparison) nothing() string {
	var why []string
	for _, v := range x.vs {
		switch {
		case x.closed[v.Key] != "":
			why = append(why, v.Key+": "+x.closed[v.Key])
		case v.Baseline != v.Key || !needed(x.vs, v.Key):
			return ""
		}
	}
	return "nothing is left to compare: " + strings.Join(why, "; ")
}
