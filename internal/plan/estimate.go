package plan

import (
	"math"
	"time"
)

// Estimate returns how long an experiment takes, at least and at most: the rounds' trials with their warm-up, and setup
// before each of them. The time of probes and steps belongs to setup. A plan that cannot be expanded takes none. A
// budget cuts both.
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
		d := p.Trials.lasting(rounds, trials, float64(setup), warm)
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

// lasting is how many nanoseconds so many rounds of so many trials take when each begins with that setup and that
// warm-up.
func (t Trials) lasting(rounds, trials int, setup float64, warm Duration) float64 {
	if t.Turns > 0 { // all trials of a round begin together, and the load is warm from the second on
		return float64(rounds)*(setup+float64(trials)*float64(t.measuring())) + float64(warm)
	}
	return float64(rounds) * float64(trials) * (setup + float64(warm) + float64(t.Time))
}

// budget refuses a budget that ends before one round can: nothing is compared then.
func (r *reader) budget(d *draft, vs []Variant) {
	trials := len(vs)
	if !d.Trials.NoControl {
		trials++
	}
	round := d.Trials.lasting(1, trials, 0, d.Trials.WarmMin)
	if d.Budget <= 0 || float64(d.Budget) >= round {
		return
	}
	r.say(r.where["budget"], "budget", "give it more, or make trials.time or trials.warmup shorter",
		"%v is too short for a single round: its %d trials take %v at least",
		d.Budget, trials, Duration(min(round, math.MaxInt64/2)))
}
