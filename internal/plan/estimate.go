package plan

import (
	"math"
	"time"
)

// Estimate returns how long an experiment takes, at least and at most: the rounds' trials with their warm-up, and setup before
// each of them. The time of probes and steps belongs to setup. A plan that cannot be expanded takes none. A budget cuts both.
func Estimate(p Plan, setup time.Duration) (least, most time.Duration) {
	vs, err := p.Variants()
	if err != nil {
		return 0, 0
	}
	trials := len(vs)
	if !p.Trials.NoControl {
		trials++
	}
	f := func(rounds int, warm Duration) time.Duration {
		d := float64(rounds) * float64(trials) * (float64(setup) + float64(warm) + float64(p.Trials.Time))
		if p.Trials.Turns > 0 { // all trials of a round begin together, and the load is warm from the second on
			d = float64(rounds)*(float64(setup)+float64(trials)*float64(p.Trials.measuring())) + float64(warm)
		}
		if p.Budget > 0 {
			d = min(d, float64(p.Budget))
		}
		if d >= math.MaxInt64 {
			return math.MaxInt64
		}
		return time.Duration(d)
	}
	return f(p.Trials.Min, p.Trials.WarmMin), f(p.Trials.Max, p.Trials.WarmMax)
}
