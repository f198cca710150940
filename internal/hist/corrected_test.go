package hist

import (
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestCorrectedByHand(t *testing.T) {
	h := New()
	for range 100 {
		h.Record(ms)
	}
	h.Record(10 * ms)
	c := h.Corrected(2 * ms) // adds 8, 6, 4 and 2 ms
	if c.Count() != 105 || h.Count() != 101 {
		t.Fatalf("%d durations, want 105; the original has %d", c.Count(), h.Count())
	}
	if want := 130 * ms; (c.Sum() - want).Abs() > want/100 {
		t.Errorf("sum %v, want %v", c.Sum(), want)
	}
	if c.Min() != ms || c.Max() != 10*ms {
		t.Errorf("min %v max %v", c.Min(), c.Max())
	}
	f := func(expected time.Duration) {
		t.Helper()
		if n := h.Corrected(expected).Count(); n != 101 {
			t.Errorf("expected %v: %d durations, want those that were there", expected, n)
		}
	}
	f(0)
	f(-ms)
	f(6 * ms) // 10 - 6 is less than what is expected
	f(time.Hour)
}

// TestCorrectedShowsAStall sets a session that stands still for a while against one that was meant to start operations
// all the time.
func TestCorrectedShowsAStall(t *testing.T) {
	const every, stall = 10 * ms, time.Second
	h, truth := New(), New()
	for range 9900 {
		h.Record(ms)
		truth.Record(ms)
	}
	h.Record(stall)
	for d := stall; d >= every; d -= every {
		truth.Record(d)
	}
	c := h.Corrected(every)
	if c.Count() != truth.Count() {
		t.Fatalf("%d durations, want %d", c.Count(), truth.Count())
	}
	for _, q := range []float64{0.5, 0.99, 0.995, 0.999} {
		if a, b := c.Quantile(q), truth.Quantile(q); (a - b).Abs() > b/50 {
			t.Errorf("q %v: %v, want %v", q, a, b)
		}
	}
	if h.Quantile(0.999) > 2*ms {
		t.Errorf("the plain one shows it as well: %v", h.Quantile(0.999))
	}
}

// TestCorrectedByBucketsIsTheSame compares the two ways of counting, with a step so small that one by one takes long.
func TestCorrectedByBucketsIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const e = 50 * time.Microsecond
	h, want := New(), New()
	for range 50 {
		h.Record(time.Duration(rng.Int64N(int64(400 * ms))))
	}
	for _, b := range h.Bars() {
		v := min(b.To, h.Max())
		for range b.Count {
			want.Record(v)
			for m := v - e; m >= e; m -= e {
				want.Record(m)
			}
		}
	}
	got := h.Corrected(e)
	if got.Count() != want.Count() {
		t.Fatalf("%d durations, want %d", got.Count(), want.Count())
	}
	for q := 0.01; q < 1; q += 0.01 {
		if a, b := got.Quantile(q), want.Quantile(q); a != b {
			t.Fatalf("q %v: %v, want %v", q, a, b)
		}
	}
	if (got.Sum() - want.Sum()).Abs() > want.Sum()/50 {
		t.Errorf("sum %v, want %v", got.Sum(), want.Sum())
	}
}

// TestCorrectedIsQuick: the longest duration and the smallest step would be billions of durations one by one.
func TestCorrectedIsQuick(t *testing.T) {
	h := New()
	h.Record(Highest)
	h.Record(2 * Highest)
	c := h.Corrected(time.Microsecond)
	if want := uint64(Highest/time.Microsecond) + 1; c.Count() < want*99/100 || c.Count() > want*101/100 {
		t.Fatalf("%d durations, want about %d", c.Count(), want)
	}
	if c.Over() != 1 || c.Sum() <= 0 || c.Max() != 2*Highest {
		t.Fatalf("over %d, sum %v, max %v", c.Over(), c.Sum(), c.Max())
	}
}
