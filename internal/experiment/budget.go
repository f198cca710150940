package experiment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// overBudget is the end of an experiment that has no time for another trial.
type overBudget struct {
	budget, spent, next time.Duration
}

const outOfBudget = "the budget of "

// OutOfBudget reports whether a result ended because its budget was spent: with a larger one the experiment can go on.
func OutOfBudget(r trial.Result) bool { return strings.HasPrefix(r.Stopped, outOfBudget) }

func (e *overBudget) Error() string {
	s := unit.Duration
	return fmt.Sprintf(outOfBudget+"%s: %s are spent, and the next trial takes about %s",
		s(e.budget), s(e.spent), s(e.next))
}

// afford refuses what would end later than the budget allows.
func (x *comparison) afford(next time.Duration) error {
	budget := time.Duration(x.p.Budget)
	if budget <= 0 {
		return nil
	}
	spent := x.spent + x.clock.now().running - x.began.running
	if spent+next > budget {
		return &overBudget{budget, spent, next}
	}
	return nil
}

// lasted is how long the trials of a variant took.
type lasted struct {
	trials      int
	last, setup time.Duration // of the last one; setup is a part of it
}

// took notes how long a valid trial took.
func (x *comparison) took(t trial.Trial, d time.Duration) {
	if t.Invalid == "" {
		setup := min(d, shared(t, t.Setup))
		x.lasted[t.Variant] = lasted{trials: x.lasted[t.Variant].trials + 1, last: d, setup: setup}
	}
}

// expect is how long the next trial of a variant takes: as long as its last one. The setup of the first one made the
// data, the second one's will be like the shortest of any. Before the first it is as long as the others, and before all
// as long as the plan says without what it takes to begin.
func (x *comparison) expect(key string) time.Duration {
	if len(x.lasted) == 0 {
		return time.Duration(x.p.Trials.Time + x.p.Trials.WarmMin)
	}
	l, ok := x.lasted[key]
	if ok && l.trials > 1 {
		return l.last
	}
	var all, setups []time.Duration
	for _, o := range x.lasted {
		all, setups = append(all, o.last), append(setups, o.setup)
	}
	if ok {
		return l.last - l.setup + slices.Min(setups)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// most is the number of trials in the rounds from one on when nothing more is decided, without repeated ones, and how
// long they take.
func (x *comparison) most(from int) (n int, d time.Duration) {
	keys := x.keys()
	for round := from; round <= x.p.Trials.Max; round++ {
		for _, key := range keys {
			v, _ := x.place(round, key, keys)
			n, d = n+1, d+x.expect(v.Key)
		}
	}
	return n, d
}

// begin describes the trial that begins.
func (x *comparison) begin(seq, round int, key string, control, again bool) Begin {
	b := Begin{Seq: seq, N: len(x.trials) + 1, Round: round, Variant: key, Control: control, Again: again}
	later, remaining := x.most(round + 1)
	b.Most, b.Remaining = b.N+later, remaining+x.expect(key)
	keys := x.keys()
	for _, k := range keys {
		v, isControl := x.place(round, k, keys)
		if had, _ := hadOf(x.trials, round, v.Key, isControl); had == 0 && (v.Key != key || isControl != control) {
			b.Most++
			b.Remaining += x.expect(v.Key)
		}
	}
	if len(x.lasted) == 0 {
		b.Remaining = 0
	}
	return b
}

// announce tells what lies ahead.
func (x *comparison) announce() {
	if x.o.Planned == nil {
		return
	}
	t, n := x.p.Trials, len(x.keys())
	p := Planned{
		Variants: len(x.vs), Min: t.Min, Max: t.Max, Trials: t.Max * n, Done: len(x.trials),
		Shortest: time.Duration(t.Min*n) * time.Duration(t.WarmMin+t.Time),
		Longest:  time.Duration(t.Max*n) * time.Duration(t.WarmMax+t.Time),
	}
	if b := time.Duration(x.p.Budget); b > 0 {
		p.Shortest, p.Longest = min(p.Shortest, b), min(p.Longest, b)
	}
	x.o.Planned(p)
}
