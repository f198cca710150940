package testbed

import (
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
)

// window decides, tick by tick, when the warm-up is over and when enough was measured. It is pure: ticks in, phases
// out.
type window struct {
	warmMin, warmMax, time time.Duration

	warm   []loadresult.Tick
	in     []loadresult.Tick // that are measured
	steady bool              // the rate was stationary when the measurement began
	open   bool
	closed bool // enough was measured
}

func newWindow(t plan.Trials) *window {
	w := &window{warmMin: time.Duration(t.WarmMin), warmMax: time.Duration(t.WarmMax), time: time.Duration(t.Time)}
	w.open = w.warmMax <= 0 // what is measured begins with the first tick
	w.steady = w.open
	return w
}

// longest is how long a run can take.
func (w *window) longest() time.Duration { return max(w.warmMin, w.warmMax) + w.time + 2*time.Second }

// add takes a tick. begin says that the measurement begins with the next one, end that the one just taken was the last.
func (w *window) add(t loadresult.Tick) (begin, end bool) {
	if w.closed { // the load is being stopped
		return false, false
	}
	if w.open {
		w.in = append(w.in, t)
		w.closed = span(w.in) >= w.time-t.Length/2
		return false, w.closed
	}
	w.warm = append(w.warm, t)
	so := span(w.warm)
	if so < w.warmMin-t.Length/2 {
		return false, false
	}
	w.steady = stationary(w.warm)
	if w.steady || so >= w.warmMax-t.Length/2 {
		w.open = true
		return true, false
	}
	return false, false
}

func span(ts []loadresult.Tick) (d time.Duration) {
	for _, t := range ts {
		d += t.Length
	}
	return d
}

// stationary reports whether the latter part of the warm-up runs at a rate of its own already.
func stationary(ts []loadresult.Tick) bool {
	rates := make([]float64, len(ts))
	for i, t := range ts {
		rates[i] = t.TPS()
	}
	from, ok := stat.Stationary(rates)
	return ok && from < len(rates)
}
