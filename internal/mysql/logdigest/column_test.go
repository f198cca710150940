package logdigest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// TestStddevOfGreatValuesThatLieClose is where sums of squares in floating point lose everything.
func TestStddevOfGreatValuesThatLieClose(t *testing.T) {
	c := column{bins: new(sketch.Bins)}
	const far = 1 << 47
	for range 1000 {
		c.add(far, 1)
		c.add(far+2, 1)
	}
	got := c.stddev(2000, 1)
	if want := math.Sqrt(2000.0 / 1999); math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWeightsAreRepetitions(t *testing.T) {
	one, many := column{bins: new(sketch.Bins)}, column{bins: new(sketch.Bins)}
	for i := range uint64(50) {
		v := 1 + i*i*i*1e6
		many.add(v, 1+i)
		for range 1 + i {
			one.add(v, 1)
		}
	}
	s := slot{info: attribute.Info{Unit: attribute.Seconds}}
	if a, b := one.figures(&s, 2000, nil), many.figures(&s, 2000, nil); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestSumsBeyondSixtyFourBits(t *testing.T) {
	c := column{bins: new(sketch.Bins)}
	c.add(limit-1, 1<<20)
	c.add(limit-1, 1<<20)
	if got, want := c.sum(1), float64(limit-1)*(1<<21); math.Abs(got-want) > want*1e-15 {
		t.Errorf("got %v, want %v", got, want)
	}
	if v := c.stddev(1<<21, 1); v != 0 {
		t.Errorf("stddev %v", v)
	}
}

func TestDecades(t *testing.T) {
	f := func(ns uint64, want int) {
		t.Helper()
		if got := decade(ns); got != want {
			t.Errorf("%d ns are in %d, want %d", ns, got, want)
		}
	}
	f(0, 0)
	f(9999, 0)
	f(10_000, 1)
	f(999_999, 2)
	f(1_000_000, 3)
	f(9_999_999, 3)
	f(10_000_000, 4)
	f(999_999_999, 5)
	f(1_000_000_000, 6)
	f(9_999_999_999, 6)
	f(10_000_000_000, 7)
	f(1<<63, 7)
}

// TestOddValuesAddUpInAnyOrder has values whose sum depends on the order in floating point, and one that has no square
// there.
func TestOddValuesAddUpInAnyOrder(t *testing.T) {
	values := []float64{0.1, 1e17, -1e17, 0.3, -0.7, 1e-200, 1e250, math.Inf(1), 3 << 50}
	s := slot{info: attribute.Info{Unit: attribute.Seconds}}
	sum := func(order []int) digest.Figures {
		c := column{bins: new(sketch.Bins)}
		for k, i := range order {
			if k%3 == 0 {
				o := column{bins: new(sketch.Bins)}
				o.addOdd(values[i], 2, nil)
				o.merge(&c, 0, nil)
				c = o
				continue
			}
			c.addOdd(values[i], 2, nil)
		}
		c.add(5, 7)
		return c.figures(&s, 100, nil)
	}
	r := rand.New(rand.NewPCG(71, 72))
	want := sum(r.Perm(len(values)))
	if v := want.Stddev.Or(-1); !(v > 0) || math.IsInf(v, 0) || math.IsInf(want.Sum, 0) {
		t.Errorf("got %+v", want)
	}
	for range 20 {
		if got := sum(r.Perm(len(values))); got != want {
			t.Errorf("%+v and %+v", got, want)
		}
	}
}
