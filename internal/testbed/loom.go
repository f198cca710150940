package testbed

import (
	"math"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
)

// loom attributes the operations of one load to the turns that variants take under it. A load tells it of every
// operation, from any goroutine; whoever switches between variants tells it when turns begin and end. Moments are all
// that counts, so that it does not matter when an operation is told of. Without a round under way it only counts.
type loom struct {
	base time.Time

	mu      sync.Mutex
	ended   uint64 // operations, ever
	turns   []turn // of the round, one after the other
	strands []strand
	// recent are the latencies of the last turns, by the turn's number modulo their count: whether a turn counts is
	// known only when it is over, and operations of it may be told of a little later still.
	recent [2]*hist.Histogram
}

// turn is what one strand did between two switches. Moments are nanoseconds since base.
type turn struct {
	strand, second int
	from           int64 // the switch was made
	open           int64 // from here on it counts
	to             int64 // the next switch begins; never while the turn lasts
	ops, queries   float64
	cut            float64 // of ops, in operations that a switch cut
	late           bool    // the client stood still: it does not count
}

// never is a moment that does not come.
const never = math.MaxInt64

// strand is what a trial gathers in its turns.
type strand struct {
	seconds []*hist.Histogram // latencies by second of the strand's own time
}

func newLoom() *loom { return &loom{base: time.Now()} }

func (l *loom) at(t time.Time) int64 { return int64(t.Sub(l.base)) }

// add takes an operation. One that lies across the edge of what counts does so in part, by its time on either side:
// whole operations would make every turn a matter of luck when they are few. Its latency is nobody's when a switch was
// in it.
func (l *loom) add(began, ended time.Time, statements uint64) {
	b, e := l.at(began), l.at(ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended++
	for i := len(l.turns) - 1; i >= 0; i-- {
		t := &l.turns[i]
		if t.to <= b {
			return // those before ended earlier
		}
		lo, hi := max(b, t.open), min(e, t.to)
		whole := b >= t.from && e <= t.to
		switch {
		case hi < lo || e <= t.open:
			continue
		case e == b:
			t.ops++
			t.queries += float64(statements)
		default:
			part := float64(hi-lo) / float64(e-b)
			t.ops += part
			t.queries += part * float64(statements)
			if !whole {
				t.cut += part
			}
		}
		switch {
		case !whole:
		case i+len(l.recent) >= len(l.turns):
			l.recent[i%len(l.recent)].Record(time.Duration(e - b))
		case !t.late:
			l.strands[t.strand].seconds[t.second].Record(time.Duration(e - b))
		}
	}
}

// operations is how many have ended since the load began.
func (l *loom) operations() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// begin starts a round of so many strands.
func (l *loom) begin(strands int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns, l.strands = nil, make([]strand, strands)
	for i := range l.recent {
		l.recent[i] = hist.New()
	}
}

// take starts a turn: the switch to the strand was made at from, and what counts begins at open.
func (l *loom) take(s, second int, from, open time.Time) {
	var fresh []*hist.Histogram
	for range second + 1 - len(l.strands[s].seconds) { // only this goroutine makes it longer
		fresh = append(fresh, hist.New())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strands[s].seconds = append(l.strands[s].seconds, fresh...)
	l.settle(len(l.turns) - len(l.recent))
	l.turns = append(l.turns, turn{strand: s, second: second, from: l.at(from), open: l.at(open), to: never})
}

// leave ends the turn: the next switch begins.
func (l *loom) leave(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.turns); n > 0 {
		l.turns[n-1].to = max(l.at(at), l.turns[n-1].from)
	}
}

// settle gives the latencies of a turn to its strand, if it counts.
func (l *loom) settle(i int) {
	if i < 0 || i >= len(l.turns) {
		return
	}
	t, h := &l.turns[i], l.recent[i%len(l.recent)]
	if !t.late {
		l.strands[t.strand].seconds[t.second].Merge(h)
	}
	h.Reset()
}

// miss says of the turn under way that it does not count.
func (l *loom) miss() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.turns); n > 0 {
		l.turns[n-1].late = true
	}
}

// end ends the round and returns what was gathered. It comes a little after the last turn: operations that were under
// way then shall have ended, and be told of.
func (l *loom) end() ([]turn, []strand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.recent {
		l.settle(len(l.turns) - len(l.recent) + i)
	}
	ts, ss := l.turns, l.strands
	l.turns, l.strands = nil, nil
	return ts, ss
}
