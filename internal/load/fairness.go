package load

import (
	"math"

	"github.com/dyno-perf/dyno/internal/loadresult"
)

// fairness tells how evenly the work fell to the sessions, as sysbench does: with the deviation of all there are, not
// of a sample.
func fairness(all []*flow) *loadresult.Fairness {
	if len(all) == 0 {
		return nil
	}
	spread := func(of func(*flow) float64) (mean, sd float64) {
		for _, f := range all {
			mean += of(f) / float64(len(all))
		}
		for _, f := range all {
			sd += (of(f) - mean) * (of(f) - mean) / float64(len(all))
		}
		return mean, math.Sqrt(sd)
	}
	var x loadresult.Fairness
	x.Events, x.EventsSD = spread(func(f *flow) float64 { return float64(f.events) })
	x.Seconds, x.SecondsSD = spread(func(f *flow) float64 { return f.spent.Seconds() })
	return &x
}
