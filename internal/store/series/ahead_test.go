package series

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

const year = 365 * 24 * time.Hour

// rounds stores a round of each target each second, n of them from at on.
func rounds(t *testing.T, s *Store, at time.Time, n int, targets ...string) {
	t.Helper()
	for i := range n {
		for _, x := range targets {
			now := at.Add(time.Duration(i) * time.Second)
			r := reading.Reading{Target: x, At: now, Samples: []metric.Sample{{Name: "x", Value: float64(i)}}}
			if err := s.AppendRound(r); err != nil {
				t.Fatalf("%s, %v: %v", x, now, err)
			}
		}
	}
}

// points counts what is stored of each target.
func points(t *testing.T, s *Store, targets ...string) (n []int) {
	t.Helper()
	for _, x := range targets {
		sum := 0
		for _, m := range mustSelect(t, s, "x", metric.L("target", x), 0, math.MaxInt64/2) {
			sum += len(m.Points)
		}
		n = append(n, sum)
	}
	return n
}

// TestOneReadingFromTheFuture gives one target one reading of a year ahead: it is refused, and nothing after it is.
func TestOneReadingFromTheFuture(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	rounds(t, s, at, 10, "a", "b")
	err := s.AppendRound(reading.Reading{
		Target: "a", At: at.Add(year),
		Samples: []metric.Sample{{Name: "x", Value: 1}},
	})
	late := s.Append([]metric.Sample{{Name: "y", At: at.Add(year).UnixMilli()}}, metric.L("target", "a"))
	rounds(t, s, at.Add(10*time.Second), 10, "a", "b")
	if n := points(t, s, "a", "b"); n[0] != 20 || n[1] != 20 {
		t.Errorf("stored %v", n)
	}
	var ahead *AheadError
	if !errors.As(err, &ahead) || !strings.Contains(err.Error(), "in the future") ||
		!errors.As(late, &ahead) || ahead.Samples != 1 {
		t.Errorf("%v, %v", err, late)
	}
}

// setClock is a clock that tests set; the store reads it in several goroutines.
type setClock struct{ ms atomic.Int64 }

func (c *setClock) set(t time.Time)      { c.ms.Store(t.UnixMilli()) }
func (c *setClock) time() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *setClock) pass(d time.Duration) { c.set(c.time().Add(d)) }

// timed opens a store whose clock the test sets.
func timed(t *testing.T, dir string, now *setClock, o Options) *Store {
	t.Helper()
	o.now = now.time
	s, err := OpenWith(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func counts(t *testing.T, s *Store, want int) {
	t.Helper()
	s.room.tried = time.Time{} // else it takes some seconds
	if n := points(t, s, "a")[0]; n != want {
		t.Errorf("%d points are read, want %d", n, want)
	}
}

// TestClockAheadAndSetRight stores rounds while the clock is a year ahead, in blocks, too, and goes on when it has been
// set right: the future is aside, the past is as it was, and a second time it is the same.
func TestClockAheadAndSetRight(t *testing.T) {
	dir := t.TempDir()
	begin := time.UnixMilli(t0)
	now := &setClock{}
	now.set(begin)
	s := timed(t, dir, now, Options{})
	put := func(at time.Time, n int) {
		t.Helper()
		for i := range n {
			now.set(at.Add(time.Duration(i) * 10 * time.Second))
			rounds(t, s, now.time(), 1, "a")
		}
	}
	put(begin, 600) // 100 minutes: some in blocks, some in the head
	if err := s.db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(begin.Add(year), 600)
	if err := condense(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	counts(t, s, 1200)
	put(begin.Add(50*time.Minute), 1) // set back to a time within a block: what is after that is the future, too
	counts(t, s, 300)
	put(begin.Add(6000*time.Second), 100)
	counts(t, s, 400)
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "ahead of the clock") {
		t.Errorf("it says %q", w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), dir)
	if err != nil || !r.OK() || len(r.Aside) == 0 || !strings.Contains(r.Text(), "moved aside: aside") {
		t.Errorf("%v %s", err, r.Text())
	}
	s = timed(t, dir, now, Options{})
	counts(t, s, 400)
	put(begin.Add(7000*time.Second), 10)
	counts(t, s, 410)
}

// TestClockBehindForAWhile sets the clock days back and right again: what was stored is aside meanwhile and comes back.
func TestClockBehindForAWhile(t *testing.T) {
	dir := t.TempDir()
	now := &setClock{}
	now.set(time.UnixMilli(t0))
	s := timed(t, dir, now, Options{})
	rounds(t, s, now.time(), 1, "a")
	now.pass(time.Hour)
	rounds(t, s, now.time(), 1, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now.pass(-5 * 24 * time.Hour)
	s = timed(t, dir, now, Options{}) // found on opening
	counts(t, s, 0)
	rounds(t, s, now.time(), 1, "a")
	counts(t, s, 1)
	now.set(time.UnixMilli(t0).Add(2 * time.Hour))
	for range 2 { // while the log may hold older samples nothing comes back
		rounds(t, s, now.time(), 1, "a")
		if err := bringBack(s); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		now.pass(time.Second)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, asideDir, "*")); len(left) != 0 {
		t.Errorf("left aside: %v", left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = timed(t, dir, now, Options{})
	counts(t, s, 5)
}

// TestDeadClock opens a store with a clock that knows no year: it touches nothing, and goes on when the clock is right.
func TestDeadClock(t *testing.T) {
	dir := t.TempDir()
	now := &setClock{}
	now.set(time.Now())
	s := timed(t, dir, now, Options{})
	rounds(t, s, now.time(), 5, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now.set(time.Unix(100, 0))
	s = timed(t, dir, now, Options{})
	var late *OutOfOrderError
	if err := s.AppendRound(reading.Reading{
		Target: "a", At: now.time(),
		Samples: []metric.Sample{{Name: "x"}},
	}); !errors.As(err, &late) {
		t.Errorf("%v", err)
	}
	now.set(time.Now().Add(10 * time.Second))
	rounds(t, s, now.time(), 5, "a")
	counts(t, s, 10)
}

// TestWrongClockExpiresNothing keeps two hours; a clock that is a year ahead lets none of them go.
func TestWrongClockExpiresNothing(t *testing.T) {
	dir := t.TempDir()
	now := &setClock{}
	now.set(time.UnixMilli(t0))
	s := timed(t, dir, now, Options{Retention: 2 * time.Hour})
	for range 6 * 60 / 10 {
		rounds(t, s, now.time(), 1, "a")
		now.pass(10 * time.Minute)
	}
	now.pass(year)
	rounds(t, s, now.time(), 1, "a")
	for range 3 {
		if err := s.db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		now.pass(10 * time.Minute)
		rounds(t, s, now.time(), 1, "a")
	}
	if n := points(t, s, "a")[0]; n < 2*60/10 {
		t.Errorf("%d points are left", n)
	}
}
