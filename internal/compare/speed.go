package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// A correction takes out of a rate what the speed of the CPUs put into it. Virtual CPUs share cores with strangers and
// run now faster, now slower; a trial that met a slow moment would be held against its variant. It is analysis of
// covariance (Fisher; for experiments on computers see Deng, Xu, Kohavi and Walker, Improving the Sensitivity of Online
// Controlled Experiments, 2013): the logarithm of the rate is regressed on the logarithm of the speed, over blocks of
// some seconds and within each variant, where nothing else differs; then each trial's rate is brought to the mean speed
// of all.
//
// That is right for a covariate that the variants cannot change. The speed is measured by work that is none of the
// server's and stays within a core's own caches: a measure of shared memory would follow what the server does to it,
// and excuse the server. Besides, it is checked: when the speed itself differs between a variant and its baseline, that
// comparison is left as it is.
const (
	speedBlock  = 5.0  // seconds: long enough for the sampling of the speed not to blur the slope
	speedBlocks = 12   // that a slope is estimated from, at least
	speedFit    = 0.4  // correlation below which the speed explains too little
	speedSteep  = 3.0  // the slope beyond which it is no matter of CPUs
	speedDoubt  = 0.99 // confidence with which the speeds of two variants must differ before a correction is refused
	// speedTrifle is the share of the margin that a systematic difference of the speeds may shift a ratio by.
	speedTrifle = 0.25
)

// speedValue is the name of the value that tells how fast the server's CPUs were during a trial.
const speedValue = "cpu_speed"

// speedRates lists the values that grow with the speed of the CPUs when these are what limits the server.
var speedRates = []string{"tps", "qps"}

// block is some seconds of one trial: the logarithms of its rate and of the speed.
type block struct{ rate, speed float64 }

// blocks cuts a trial; seconds without a speed are left out.
func blocks(t trial.Trial) (out []block) {
	var ops, length, work float64
	for i, s := range t.Seconds {
		if s.Speed > 0 && s.Length > 0 {
			ops, length, work = ops+float64(s.Ops), length+s.Length, work+s.Length*s.Speed
		}
		if length >= speedBlock-0.5 || i == len(t.Seconds)-1 && length >= speedBlock/2-0.6 {
			if ops > 0 {
				out = append(out, block{math.Log(ops / length), math.Log(work / length)})
			}
			ops, length, work = 0, 0, 0
		}
	}
	return out
}

// correct estimates the correction from the trials of the first rounds, nil when there is none to make.
func (j *judgement) correct(rounds int) *trial.Correction {
	if j.p.Trials.Raw || !slices.Contains(speedRates, j.metric.Name) {
		return nil
	}
	groups := map[string][]block{}
	level, trials := 0.0, 0
	for _, t := range j.trials {
		if v := t.Values[speedValue]; t.Round <= rounds && t.Invalid == "" && v > 0 {
			level += math.Log(v)
			trials++
			groups[t.Variant] = append(groups[t.Variant], blocks(t)...)
		}
	}
	c := &trial.Correction{}
	var xx, xy, yy float64
	for _, v := range j.vs { // in an order that does not change
		bs := groups[v.Key]
		if len(bs) < 2 {
			continue
		}
		var mean block
		for _, b := range bs {
			mean.rate += b.rate / float64(len(bs))
			mean.speed += b.speed / float64(len(bs))
		}
		for _, b := range bs {
			x, y := b.speed-mean.speed, b.rate-mean.rate
			xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
		}
		c.Blocks += len(bs)
	}
	if c.Blocks < speedBlocks || xx <= 0 || yy <= 0 {
		return nil
	}
	c.Slope, c.Fit, c.Level = xy/xx, xy/math.Sqrt(xx*yy), math.Exp(level/float64(trials))
	c.Spread = math.Abs(c.Slope) * math.Sqrt(xx/float64(c.Blocks))
	switch {
	case c.Fit < speedFit:
		c.Why = fmt.Sprintf("the speed of the CPUs explains little of the rate (correlation %.2f)", c.Fit)
	case c.Slope > speedSteep:
		c.Why = fmt.Sprintf("the rate follows the speed of the CPUs too steeply (slope %.1f)", c.Slope)
	default:
		c.Used = true
	}
	return c
}

// atMean returns the factor that brings a trial to the mean speed, 1 when nothing is corrected.
func atMean(c *trial.Correction, t trial.Trial) float64 {
	v := t.Values[speedValue]
	if c == nil || !c.Used || v <= 0 {
		return 1
	}
	return math.Pow(c.Level/v, c.Slope)
}

// correctable decides for one comparison, by its first rounds, whether the speeds of its two sides may be taken for
// chance, and tells why not.
func (j *judgement) correctable(c *trial.Correction, rounds int, of plan.Variant) (ok bool, why string) {
	if c == nil || !c.Used {
		return false, ""
	}
	var pairs []stat.Pair
	for r := 1; r <= min(rounds, j.last); r++ {
		b, okb := j.by[place{r, of.Baseline, false}]
		v, okv := j.by[place{r, of.Key, false}]
		if !okb || !okv || b.Invalid != "" || v.Invalid != "" {
			continue
		}
		if b.Values[speedValue] <= 0 || v.Values[speedValue] <= 0 {
			return false, "the speed of the CPUs was not measured in every trial"
		}
		pairs = append(pairs, stat.Pair{
			Baseline: 1 / atMean(c, b), Variant: 1 / atMean(c, v),
			VariantFirst: v.Seq < b.Seq, Round: r,
		})
	}
	x, err := stat.PairedRatio(pairs, speedDoubt)
	if err != nil {
		return true, "" // too few to tell anything, of the rate as well
	}
	if (x.Lo > 1 || x.Hi < 1) && math.Abs(math.Log(x.Center)) > speedTrifle*math.Log1p(j.margin()) {
		return false, fmt.Sprintf("the CPUs themselves were slower or faster with it, by %+.1f %% of the rate (%.1f "+
			"to %.1f %%), so the ratio is not corrected for their speed",
			100*(x.Center-1), 100*(x.Lo-1), 100*(x.Hi-1))
	}
	return true, ""
}

func (j *judgement) margin() float64 {
	if j.p.Trials.Margin > 0 {
		return j.p.Trials.Margin
	}
	return stat.DefaultMargin
}
