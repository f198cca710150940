package digestsource

import (
	"cmp"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
)

// apart is how much memory the workers' Aggregators may take together, bytes. With very many classes each of them has
// nearly all: beyond this the workers share one and take turns.
const apart = 96 << 20

// sum is what all workers counted.
type sum struct {
	mu    sync.Mutex
	total *logdigest.Aggregator

	most  uint64 // bytes in use from which on the workers share
	short atomic.Bool
}

func newSum(o LogOptions) *sum {
	return &sum{total: logdigest.New(o.Config), most: inUse() + cmp.Or(o.crowd, apart)}
}

// inUse returns how many bytes the last garbage collection left.
func inUse() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// crowded reports whether workers are to share.
func (s *sum) crowded() bool {
	if !s.short.Load() && inUse() > s.most {
		s.short.Store(true)
	}
	return s.short.Load()
}

// add adds what a worker counted; nothing may be added to that any more.
func (s *sum) add(a *logdigest.Aggregator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Take(a)
}

// take lends the common Aggregator out until give.
func (s *sum) take() *logdigest.Aggregator {
	s.mu.Lock()
	return s.total
}

func (s *sum) give() { s.mu.Unlock() }
