package load

import (
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/progress"
)

// Reporter hands progress from several goroutines to one sink, a few times a second, one step after the other.
type Reporter struct {
	Sink progress.Sink
	mu   sync.Mutex
	p    progress.Progress
}

const reportEvery = 100 * time.Millisecond

// Begin begins a step. The total may be an estimate.
func (r *Reporter) Begin(step, unit string, total int) {
	now := time.Now()
	r.p = progress.Progress{Step: step, Unit: unit, Total: float64(total), Started: now, At: now}
	r.Sink.Report(r.p)
}

// Add adds to what is done of the step.
func (r *Reporter) Add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Done += float64(n)
	if now := time.Now(); now.Sub(r.p.At) >= reportEvery {
		r.p.At = now
		r.Sink.Report(r.p)
	}
}

// End completes the step: what was done is the total.
func (r *Reporter) End() {
	r.p.At, r.p.End = time.Now(), true
	r.p.Total = r.p.Done
	r.Sink.Report(r.p)
}
