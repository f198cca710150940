package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// longGap is a pause within a round that is worth a word: what is compared was then measured at different times.
const longGap = 5 * time.Minute

// judge closes the variants that need no more rounds. It sees the trials up to this round only: an experiment that was
// resumed is judged as one that was not.
func (x *comparison) judge(round int) {
	var seen []trial.Trial
	for _, t := range x.trials {
		if t.Round <= round {
			seen = append(seen, t)
		}
	}
	out := compare.Judge(x.p, x.vs, seen)
	j := Judged{Round: round, Outcome: out}
	for _, v := range x.vs {
		was := !x.decided[v.Key] && x.closed[v.Key] == ""
		if round >= x.p.Trials.Min && !slices.Contains(out.Open, v.Key) {
			x.decided[v.Key] = true
		}
		switch {
		case !x.decided[v.Key] && x.closed[v.Key] == "":
			j.Open = append(j.Open, v.Key)
		case was:
			j.Closed = append(j.Closed, v.Key)
		}
	}
	if x.o.Judged != nil && round >= x.last { // the rounds before have been told already
		x.o.Judged(j)
	}
}

// result puts together what there is.
func (x *comparison) result(stopped string) trial.Result {
	r := trial.Result{
		Format: trial.Format, Plan: x.p, Variants: x.vs, Trials: x.trials, Started: x.started,
		Ended:   x.clock.now().wall,
		Stopped: stopped, Warnings: gaps(x.trials),
	}
	compare.Fill(&r)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Valid == 0 && c.Failed == "" {
			c.Failed = x.closed[c.Variant]
		}
	}
	return r
}

// gaps tells of the interruptions within rounds.
func gaps(trials []trial.Trial) (warnings []string) {
	for i := 1; i < len(trials); i++ {
		a, b := trials[i-1], trials[i]
		if gap := begun(b).Sub(a.To); a.Round == b.Round && gap > longGap {
			warnings = append(warnings, fmt.Sprintf("round %d was interrupted for %s: what it compares was measured "+
				"that far apart", b.Round, unit.Duration(gap)))
		}
	}
	return warnings
}
