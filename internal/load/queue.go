package load

import (
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/pace"
)

// queue says which operations are due, for sessions that do not simply start the next one when the last one has ended.
// It is used by several goroutines.
type queue interface {
	// take returns the operation that has been due longest. t is nil when the session's own terminal shall draw it.
	take(now time.Duration) (t *terminal, due time.Duration, ok bool)
	// untake says that what take returned was not begun after all, because the run ends.
	untake()
	// give says that the operation of a terminal that came from take has ended.
	give(t *terminal, now time.Duration)
	// next returns when the earliest operation not taken is due, pace.Never when none comes any more.
	next() time.Duration
	// ended reports whether no operation comes any more, however long one waits.
	ended() bool
	// count returns how many operations have been due from the start until now, and how many of them have been taken.
	count(now time.Duration) (due, taken uint64)
}

// stream is the arrivals of a run: while it warms up at the rate that its shape begins with, then those of the shape.
type stream struct {
	warm  *pace.Arrivals // nil when the warm-up is over
	main  *pace.Arrivals
	begin time.Duration // of the shape
	end   time.Duration // nothing is due from here on
	limit uint64        // of arrivals of the shape; 0 for none
	n     uint64
}

func newStream(c *Config) stream {
	s := stream{main: c.Rate.Arrivals(c.RateKind, c.Seed), begin: c.Warmup, end: pace.Never, limit: c.Events}
	if c.Time > 0 {
		s.end = c.Warmup + c.Time
	}
	if first := pace.Constant(c.Rate.Rate(0)); c.Warmup > 0 && !first.IsZero() {
		s.warm = first.Arrivals(c.RateKind, c.Seed+1)
	}
	return s
}

func (s *stream) next() time.Duration {
	if s.warm != nil {
		if at := s.warm.Next(); at < s.begin {
			return at
		}
		s.warm = nil
	}
	if s.limit > 0 && s.n == s.limit {
		return pace.Never
	}
	s.n++
	at := s.main.Next()
	if at > pace.Never-s.begin || at+s.begin >= s.end {
		return pace.Never
	}
	return at + s.begin
}

// arrivals is the queue of an open loop. However long it gets, it takes no memory: whoever counts it draws the same
// arrivals once more.
type arrivals struct {
	mu    sync.Mutex
	line  stream
	at    time.Duration // of the earliest not taken
	taken uint64

	counting stream
	countAt  time.Duration // of the earliest not counted
	due      uint64
}

func newArrivals(c *Config) *arrivals {
	a := &arrivals{line: newStream(c), counting: newStream(c)}
	a.at, a.countAt = a.line.next(), a.counting.next()
	return a
}

func (a *arrivals) take(now time.Duration) (t *terminal, due time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at > now || a.at == pace.Never {
		return nil, 0, false
	}
	due = a.at
	a.at = a.line.next()
	a.taken++
	return nil, due, true
}

func (a *arrivals) untake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken--
}

func (a *arrivals) give(*terminal, time.Duration) {}

func (a *arrivals) next() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}

// ended is false when it is the end of the run's time that no arrival lies before: the run lasts until then.
func (a *arrivals) ended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at == pace.Never && (a.line.end == pace.Never || a.line.limit > 0 && a.line.n >= a.line.limit)
}

func (a *arrivals) count(now time.Duration) (due, taken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.countAt <= now && a.countAt != pace.Never {
		a.due++
		a.countAt = a.counting.next()
	}
	return a.due, a.taken
}

// pool is the queue of terminals that share fewer sessions, by the moment at which they are ready.
type pool struct {
	mu    sync.Mutex
	ready moments[*terminal]
	taken uint64
	// unbegun counts those that were taken out of ready, due, and never begun.
	unbegun uint64
	may     func() bool // whether another operation may begin
	over    bool        // it said no
}

func newPool(terminals []*terminal, may func() bool) *pool {
	p := &pool{may: may}
	for _, t := range terminals {
		t.draw(0)
		p.ready.push(t.due, t)
	}
	return p
}

func (p *pool) take(now time.Duration) (t *terminal, due time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.ready.next() > now {
		return nil, 0, false
	}
	if !p.may() {
		p.over = true
		return nil, 0, false
	}
	p.taken++
	due, t = p.ready.pop()
	return t, due, true
}

func (p *pool) untake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.unbegun++
}

func (p *pool) give(t *terminal, now time.Duration) {
	t.draw(now) // its generator is nobody else's yet
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready.push(t.due, t)
}

func (p *pool) next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return pace.Never
	}
	return p.ready.next()
}

func (p *pool) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

func (p *pool) count(now time.Duration) (due, taken uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due = p.taken + p.unbegun
	for _, x := range p.ready.list {
		if x.at <= now {
			due++
		}
	}
	return due, p.taken
}
