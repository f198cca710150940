package load

import (
	"sync"
	"time"

	"dyno/internal/progress"
)

// reporter hands progress from several goroutines to one sink, a few times a second.
type reporter struct {
	sink progress.Sink
	mu   sync.Mutex
	p    progress.Progress
}

const reportEvery = 100 * time.Millisecond

func (r *reporter) begin(step, unit string, total int) {
	now := time.Now()
	r.p = progress.Progress{Step: step, Unit: unit, Total: float64(total), Started: now, At: now}
	r.sink.Report(r.p)
}

func (r *reporter) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Done += float64(n)
	if now := time.Now(); now.Sub(r.p.At) >= reportEvery {
		r.p.At = now
		r.sink.Report(r.p)
	}
}

// end completes the step. The total may have been an estimate.
func (r *reporter) end() {
	r.p.At, r.p.End = time.Now(), true
	r.p.Total = r.p.Done
	r.sink.Report(r.p)
}
