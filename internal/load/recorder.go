package load

import (
	"strconv"
	"sync"
	"time"

	"dyno/internal/hist"
	"dyno/internal/run"
)

// lost is the key in Tick.Errors of a connection that broke.
const lost = "lost"

// recorder takes the figures of one session. The session writes at the end of every operation, the ticker takes what there is
// once a second: the lock is free except for those moments.
type recorder struct {
	mu    sync.Mutex
	cur   *counts
	spare *counts // the ticker's alone
}

// counts are the figures of one session within one tick.
type counts struct {
	ops        []opCounts // by kind of operation
	errors     map[uint16]uint64
	lost       uint64
	reconnects uint64
}

type opCounts struct {
	statements
	latency *hist.Histogram // nil until the first operation of its kind
}

// statements counts those that the server answered.
type statements struct{ reads, writes, others uint64 }

func newRecorder(kinds int) *recorder {
	return &recorder{cur: newCounts(kinds), spare: newCounts(kinds)}
}

func newCounts(kinds int) *counts {
	return &counts{ops: make([]opCounts, kinds), errors: map[uint16]uint64{}}
}

// done counts a completed operation and the statements it took. It allocates nothing once a kind has been seen.
func (r *recorder) done(kind int, latency time.Duration, n statements) {
	r.mu.Lock()
	o := &r.cur.ops[kind]
	if o.latency == nil {
		o.latency = hist.New()
	}
	o.latency.Record(latency)
	o.add(n)
	r.mu.Unlock()
}

// unfinished counts the statements of an operation that came to no end.
func (r *recorder) unfinished(kind int, n statements) {
	r.mu.Lock()
	r.cur.ops[kind].add(n)
	r.mu.Unlock()
}

func (r *recorder) serverError(number uint16) {
	r.mu.Lock()
	r.cur.errors[number]++
	r.mu.Unlock()
}

func (r *recorder) connectionLost() {
	r.mu.Lock()
	r.cur.lost++
	r.mu.Unlock()
}

func (r *recorder) reconnected() {
	r.mu.Lock()
	r.cur.reconnects++
	r.mu.Unlock()
}

// take adds what was counted since the last take to t, whose Ops are in the order of the kinds. Only one goroutine calls it.
func (r *recorder) take(t *run.Tick) {
	r.mu.Lock()
	c := r.cur
	r.cur = r.spare
	r.mu.Unlock()
	r.spare = c
	for i := range c.ops {
		o, to := &c.ops[i], &t.Ops[i]
		to.Reads, to.Writes, to.Others = to.Reads+o.reads, to.Writes+o.writes, to.Others+o.others
		if o.latency != nil && o.latency.Count() > 0 {
			to.Latency.Merge(o.latency)
			o.latency.Reset()
		}
		o.statements = statements{}
	}
	for n, k := range c.errors {
		addError(t, strconv.Itoa(int(n)), k)
	}
	clear(c.errors)
	if c.lost > 0 {
		addError(t, lost, c.lost)
	}
	t.Reconnects += c.reconnects
	c.lost, c.reconnects = 0, 0
}

func addError(t *run.Tick, key string, n uint64) {
	if t.Errors == nil {
		t.Errors = map[string]uint64{}
	}
	t.Errors[key] += n
}

func (s *statements) add(n statements) {
	s.reads, s.writes, s.others = s.reads+n.reads, s.writes+n.writes, s.others+n.others
}
