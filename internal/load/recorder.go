package load

import (
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/workload"
)

// lost is the key in Tick.Errors of a connection that broke.
const lost = "lost"

// recorder takes the figures of a loop, or of some sessions of the driver. They write at the end of every operation or
// of every pass, the ticker takes what there is once a second: the lock is free except for those moments.
type recorder struct {
	mu    sync.Mutex
	cur   *counts
	spare *counts // the ticker's alone
}

// counts are the figures of one recorder within one tick. Its methods need the recorder to be held, and allocate
// nothing once everything that happens has happened before.
type counts struct {
	ops        []opCounts        // by kind of operation
	statements []*hist.Histogram // by kind of statement, nil where none was timed
	errors     map[string]uint64 // by the server's code
	lost       uint64
	reconnects uint64
	delay      time.Duration // the longest
	client     ownFigures
}

type opCounts struct {
	statements
	latency  *hist.Histogram // nil until the first operation of its kind
	response *hist.Histogram // nil in a closed loop
	failed   uint64
}

// statements counts those that the server answered.
type statements struct{ reads, writes, others uint64 }

func (s *statements) add(n statements) {
	s.reads, s.writes, s.others = s.reads+n.reads, s.writes+n.writes, s.others+n.others
}

// count adds one statement of a kind.
func (s *statements) count(k workload.Kind) {
	switch k {
	case workload.Read:
		s.reads++
	case workload.Write:
		s.writes++
	default:
		s.others++
	}
}

// newRecorder returns a recorder for so many kinds of operation and of statement.
func newRecorder(kinds, names int) *recorder {
	return &recorder{cur: newCounts(kinds, names), spare: newCounts(kinds, names)}
}

func newCounts(kinds, names int) *counts {
	return &counts{
		ops: make([]opCounts, kinds), statements: make([]*hist.Histogram, names),
		errors: map[string]uint64{},
	}
}

// hold gives the counts to write into until release.
func (r *recorder) hold() *counts {
	r.mu.Lock()
	return r.cur
}

func (r *recorder) release() { r.mu.Unlock() }

// noResponse stands for the response time where there is none.
const noResponse = time.Duration(-1)

// done counts a completed operation and the statements it took.
func (c *counts) done(kind int, service, response time.Duration, n statements) {
	o := &c.ops[kind]
	record(&o.latency, service)
	if response != noResponse {
		record(&o.response, response)
	}
	o.add(n)
}

func record(h **hist.Histogram, d time.Duration) {
	if *h == nil {
		*h = hist.New()
	}
	(*h).Record(d)
}

// unfinished counts the statements of an operation that came to no end.
func (c *counts) unfinished(kind int, n statements) { c.ops[kind].add(n) }

// failed counts an operation that was given up.
func (c *counts) failed(kind int, n statements) {
	c.ops[kind].add(n)
	c.ops[kind].failed++
}

// statement counts the time that a statement of a kind took.
func (c *counts) statement(name int, d time.Duration) { record(&c.statements[name], d) }

// take adds what was counted since the last take to t, whose Ops and Statements are in the order of the kinds. Only one
// goroutine calls it. It returns what is not for the tick; that is valid until the next take.
func (r *recorder) take(t *loadresult.Tick) *counts {
	r.mu.Lock()
	c := r.cur
	r.cur = r.spare
	r.mu.Unlock()
	r.spare = c
	for i := range c.ops {
		o, to := &c.ops[i], &t.Ops[i]
		to.Reads, to.Writes, to.Others = to.Reads+o.reads, to.Writes+o.writes, to.Others+o.others
		to.Failed += o.failed
		drain(to.Latency, o.latency)
		drain(to.Response, o.response)
		o.statements, o.failed = statements{}, 0
	}
	for i, h := range c.statements {
		if i < len(t.Statements) {
			drain(t.Statements[i].Latency, h)
		}
	}
	for n, k := range c.errors {
		addError(t, n, k)
	}
	clear(c.errors)
	if c.lost > 0 {
		addError(t, lost, c.lost)
	}
	t.Reconnects += c.reconnects
	t.Delay = max(t.Delay, c.delay)
	c.lost, c.reconnects, c.delay = 0, 0, 0
	return c
}

// own takes the figures of the client itself.
func (c *counts) own() ownFigures {
	o := c.client
	c.client = ownFigures{}
	return o
}

// begins counts an operation that begins, by so much too late: a session was free, and it was due.
func (c *counts) begins(late time.Duration) {
	c.client.begun++
	if late > lateStart {
		c.client.late++
	}
	c.delay = max(c.delay, late)
}

func drain(to, from *hist.Histogram) {
	if from != nil && to != nil && from.Count() > 0 {
		to.Merge(from)
		from.Reset()
	}
}

func addError(t *loadresult.Tick, key string, n uint64) {
	if t.Errors == nil {
		t.Errors = map[string]uint64{}
	}
	t.Errors[key] += n
}
