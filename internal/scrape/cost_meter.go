package scrape

import (
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Meter shares out the CPU time of this program among the rounds of its scrapers: what is spent while n of them are
// under way is counted to each by an nth, what is spent while none is, to nobody. Go moves goroutines between threads,
// so there is nothing better to measure than the program as a whole. With nothing else to do at those moments it is
// what reading costs; a program that draws or answers meanwhile counts that too. Its methods may be called from many
// goroutines.
type Meter struct {
	mu     sync.Mutex
	last   time.Duration // CPU time of the program at the last change of n
	n      int
	share  time.Duration // what a round that was under way all the time would have got
	cpu    func() (time.Duration, bool)
	failed bool
}

// NewMeter returns a meter. Scrapers of one program share one.
func NewMeter() *Meter { return &Meter{cpu: ownCPU} }

// begin starts a round; its end wants what begin returned.
func (m *Meter) begin() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.n++
	return m.share
}

// end returns the CPU time of the round.
func (m *Meter) end(begin time.Duration) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.n--
	return m.share - begin, !m.failed
}

func (m *Meter) advance() {
	now, ok := m.cpu()
	if !ok {
		m.failed = true
		return
	}
	if m.n > 0 {
		m.share += (now - m.last) / time.Duration(m.n)
	}
	m.last = now
}

// ownCPU returns the CPU time of this whole program, user and system.
func ownCPU() (time.Duration, bool) {
	user, system, ok := platform.CPU()
	return user + system, ok
}
