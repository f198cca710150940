package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// entries is a log.
type entries struct {
	list []Logged
	at   int
}

func (*entries) Check(context.Context) error { return nil }
func (*entries) Dial(context.Context) (ReplaySession, error) {
	return nil, errors.New("there is no server")
}
func (*entries) Close() {}

func (x *entries) Next(_ context.Context, e *Logged) error {
	if x.at == len(x.list) {
		return io.EOF
	}
	*e = x.list[x.at]
	x.at++
	return nil
}

// slow returns an entry of a slow log that ended at a time in seconds and took some.
func slow(thread uint64, end, took float64, sql string) Logged {
	return Logged{
		At: int64(end * 1e6), Thread: thread, HasID: thread > 0, User: []byte("app"), Host: []byte("h"),
		SQL: []byte(sql), Rate: 1, Took: int64(took * 1e6),
	}
}

func TestLogClock(t *testing.T) {
	var c logClock
	f := func(e Logged, wantStart float64) {
		t.Helper()
		if start := c.place(&e); start != int64(wantStart*1e6) {
			t.Errorf("began at %v, want %v", start, wantStart)
		}
	}
	f(slow(1, 1000, 0.5, ""), 999.5)
	f(slow(1, 1001, 3, ""), 998)
	f(Logged{At: 1002e6, AtBegin: true}, 1002) // of a general log
	f(slow(1, 0, 0.25, ""), 1001.75)           // it has not said
	f(slow(1, 990, 0, ""), 990)                // a little out of order
	f(slow(1, 500, 0, ""), 1002)               // the clock was set back
	f(slow(1, 501, 0, ""), 1003)
	if c.first != 990e6 || c.latest != 1003e6 || c.back != 1 {
		t.Errorf("from %v to %v, back %d times", c.first, c.latest, c.back)
	}
	// MariaDB tells when a statement began, in an entry that is written when it has ended.
	c = logClock{}
	maria := func(begin, took float64) Logged {
		e := slow(1, begin, took, "")
		e.AtBegin = true
		return e
	}
	f(maria(1000, 0.5), 1000)
	f(maria(1500, 0.5), 1500)
	f(maria(1000, 501), 1000)
	if c.first != 1000e6 || c.latest != 1501e6 || c.back != 0 {
		t.Errorf("from %v to %v, back %d times", c.first, c.latest, c.back)
	}
	// Some entries tell the time of another zone: the log goes on all the same.
	c = logClock{}
	f(slow(1, 20000, 0, ""), 20000)
	f(slow(1, 2001, 0, ""), 20000)
	f(slow(1, 20002, 0, ""), 20002)
	f(slow(1, 2003, 0, ""), 20002)
	f(slow(1, 20004, 0, ""), 20004)
	f(slow(1, 25000, 0, ""), 25000) // a pause
	if c.back != 1 {
		t.Errorf("the clock went back %d times", c.back)
	}
	c = logClock{}
	f(slow(1, 0, 1, ""), -1)
	f(slow(1, 1000, 1, ""), 999)
	if c.first != 999e6 {
		t.Errorf("the log begins at %v", c.first)
	}
}

// fed reads a whole log without a server.
func fed(t *testing.T, c ReplayConfig, list ...Logged) *replay {
	t.Helper()
	c, err := c.settle()
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(nil, &entries{list: list}, c, context.Background())
	r.feed()
	r.base = r.clock.first
	return r
}

func TestSessionsWithoutAnID(t *testing.T) {
	f := func(want int, list ...Logged) {
		t.Helper()
		if r := fed(t, ReplayConfig{}, list...); r.count.Sessions != uint64(want) {
			t.Errorf("%d sessions, want %d", r.count.Sessions, want)
		}
	}
	f(1, slow(0, 10.5, 0.4, "SELECT 1"), slow(0, 11.7, 0.4, "SELECT 2"))
	f(2, slow(0, 10.5, 0.4, "SELECT 1"), slow(0, 10.7, 0.4, "SELECT 2"))
	// the first is free again
	f(2, slow(0, 10.5, 0.4, "SELECT 1"), slow(0, 10.7, 0.4, "SELECT 2"), slow(0, 10.9, 0.4, "SELECT 3"))
	f(3, slow(0, 10.5, 0.4, "SELECT 1"), slow(0, 10.6, 0.4, "SELECT 2"), slow(0, 10.7, 0.4, "SELECT 3"))
	f(1, slow(0, 10, 0.4, "SELECT 1"), slow(0, 10, 0.4, "SELECT 2")) // whole seconds
	f(2, slow(0, 10, 4, "SELECT 1"), slow(0, 10, 4, "SELECT 2"))
	f(2, slow(7, 10.5, 0.4, "SELECT 1"), slow(8, 10.7, 0.4, "SELECT 2"), slow(7, 10.8, 0.1, "SELECT 3"))
}

func TestDue(t *testing.T) {
	due := func(speed float64, list ...Logged) (out []time.Duration) {
		r := fed(t, ReplayConfig{Speed: speed}, list...)
		for s := range r.all {
			for s.queue.len() > 0 {
				out = append(out, r.due(s.queue.pop().start)-leadIn)
			}
		}
		return out
	}
	f := func(got []time.Duration, want ...time.Duration) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("due at %v, want %v", got, want)
		}
	}
	log := []Logged{slow(1, 10.5, 0.5, "SELECT 1"), slow(1, 12, 1, "SELECT 2"), slow(1, 20, 0.1, "SELECT 3")}
	f(due(1, log...), 0, time.Second, 9900*time.Millisecond)
	f(due(10, log...), 0, 100*time.Millisecond, 990*time.Millisecond)
	// Whole seconds: one begins when the one before has ended.
	f(due(1, slow(1, 10, 0.25, "SELECT 1"), slow(1, 10, 0.25, "SELECT 2"), slow(1, 10, 0.25, "SELECT 3")), 0,
		250*time.Millisecond, 500*time.Millisecond)
}

func TestRateLimitIsTold(t *testing.T) {
	limited := slow(1, 1001, 0, "SELECT 2")
	limited.Rate = 100
	r := fed(t, ReplayConfig{}, slow(1, 1000, 0, "SELECT 1"), limited)
	x := r.told()
	if w := strings.Join(x.warnings(r.config), "\n"); x.Rate != 100 || !strings.Contains(w, "one of 100 statements") {
		t.Errorf("rate %d, %q", x.Rate, w)
	}
	if r := fed(t, ReplayConfig{}, slow(1, 1000, 0, "SELECT 1")); r.count.Rate != 0 {
		t.Errorf("rate %d", r.count.Rate)
	}
}

// endless is a log without an end.
type endless struct {
	entries
	n uint64
}

func (x *endless) Next(_ context.Context, e *Logged) error {
	x.n++
	*e = slow(1+x.n%100, float64(1000+x.n), 0, "SELECT "+strconv.FormatUint(x.n, 10)+
		" FROM a_table_with_a_name_that_is_rather_long")
	return nil
}

// TestReadAheadIsBounded expects the reading of an endless log to wait, and to go on when there is room again.
func TestReadAheadIsBounded(t *testing.T) {
	c, _ := ReplayConfig{}.settle()
	src := &endless{}
	r := newReplay(nil, src, c, context.Background())
	fed := make(chan struct{})
	go func() { r.feed(); close(fed) }()
	full := func() uint64 { // waits until nothing more is read
		for before, since := uint64(0), time.Now(); ; time.Sleep(time.Millisecond) {
			r.mu.Lock()
			n, bytes := r.count.Entries, r.bytes
			r.mu.Unlock()
			if bytes > aheadBytes+4096 {
				t.Fatalf("%d bytes were read ahead, more than %d", bytes, aheadBytes)
			}
			if n != before {
				before, since = n, time.Now()
			} else if bytes > aheadBytes && time.Since(since) > 50*time.Millisecond {
				return n
			}
			if time.Since(since) > 20*time.Second {
				t.Fatalf("reading stopped after %d entries with %d bytes", n, bytes)
			}
		}
	}
	<-r.ready
	first := full()
	r.mu.Lock()
	for s := range r.all {
		for range 100 {
			i := s.queue.pop()
			r.bytes -= i.size()
		}
	}
	r.room.Signal()
	r.mu.Unlock()
	if second := full(); second < first+9000 {
		t.Errorf("%d entries were read, and %d when there was room for 10000 more", first, second)
	}
	r.stopped.Store(true)
	r.wake()
	<-fed
}

func TestItemQueue(t *testing.T) {
	var q itemQueue
	next, popped := int64(0), int64(0)
	for round := range 2000 {
		for range round % 7 {
			q.push(replayItem{start: next})
			next++
		}
		for range round % 5 {
			if i := q.peek(); i != nil {
				if got := q.pop(); got.start != popped {
					t.Fatalf("item %d where %d should be", got.start, popped)
				}
				popped++
			}
		}
		if q.len() != int(next-popped) {
			t.Fatalf("%d items, want %d", q.len(), next-popped)
		}
	}
	if n := q.until(func(i *replayItem) bool { return i.start < popped+10 }); n != 10 {
		t.Errorf("%d items are due, want 10", n)
	}
	q.push(replayItem{start: next, quit: true})
	if got := q.left(); got != uint64(next-popped) {
		t.Errorf("%d statements are left, want %d", got, next-popped)
	}
}
