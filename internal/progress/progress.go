// Package progress holds the state of a long task as a value, with its remaining time. The task
// reports values through a Sink; its caller decides how to show them.
package progress

import (
	"math"
	"time"
)

// Progress is how far one piece of work has got.
type Progress struct {
	Step    string    // what is being done, in a few words: "loading rows"
	Done    float64   // in Unit
	Total   float64   // 0 when not known
	Unit    string    // "rows", "bytes", "s"
	Started time.Time // of the step
	At      time.Time // of this value
	End     bool      // the step is complete
}

// Sink takes progress as it happens. It is called from the goroutine that works and returns quickly. A nil Sink is not
// called: use Report.
type Sink func(Progress)

// Report hands p to the sink, if there is one.
func (s Sink) Report(p Progress) {
	if s != nil {
		s(p)
	}
}

// Fraction returns the done share, 0 to 1; not ok when the total is unknown.
func (p Progress) Fraction() (f float64, ok bool) {
	if p.End {
		return 1, true
	}
	f = p.Done / p.Total
	if !(p.Total > 0) || math.IsNaN(f) { // servers tell some of them
		return 0, false
	}
	return max(0, min(1, f)), true
}

// Remaining estimates the time left from the mean speed so far; not ok before a hundredth is done or when the total is
// unknown.
func (p Progress) Remaining() (d time.Duration, ok bool) {
	f, ok := p.Fraction()
	if !ok || f < 0.01 {
		return 0, false
	}
	spent := p.At.Sub(p.Started)
	return time.Duration(float64(spent) * (1 - f) / f), true
}
