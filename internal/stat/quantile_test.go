package stat

import (
	"math"
	"testing"
)

func near(a, b, eps float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= eps
}

func TestQuantile(t *testing.T) {
	f := func(want, q float64, xs ...float64) {
		t.Helper()
		before := append([]float64{}, xs...)
		if got := Quantile(xs, q); !near(got, want, 1e-12) {
			t.Errorf("%v of %v: %v, want %v", q, xs, got, want)
		}
		for i := range xs {
			if xs[i] != before[i] {
				t.Error("the values were changed")
			}
		}
	}
	f(math.NaN(), 0.5)
	f(math.NaN(), math.NaN(), 1)
	f(7, 0.5, 7)
	f(7, 1, 7)
	f(2, 0.5, 3, 1, 2)
	f(2.5, 0.5, 4, 1, 3, 2)
	f(1.75, 0.25, 4, 1, 3, 2) // numpy.quantile([1, 2, 3, 4], 0.25)
	f(3.85, 0.95, 4, 1, 3, 2)
	f(1, 0, 4, 1, 3, 2)
	f(4, 1, 4, 1, 3, 2)
	f(1, -1, 4, 1, 3, 2)
	f(4, 2, 4, 1, 3, 2)
}

func TestMAD(t *testing.T) {
	f := func(want float64, xs ...float64) {
		t.Helper()
		if got := MAD(xs); !near(got, want, 1e-12) {
			t.Errorf("%v: %v, want %v", xs, got, want)
		}
	}
	f(math.NaN())
	f(0, 5)
	f(1.5*1.4826, 1, 2, 3, 4, 5, 6)
	f(1.4826, 1, 2, 3, 4, 1e9)
}

func TestCenter(t *testing.T) {
	f := func(want Interval, xs ...float64) {
		t.Helper()
		got := Center(xs, 0.95)
		if !near(got.Center, want.Center, 1e-6) || !near(got.Lo, want.Lo, 1e-6) || !near(got.Hi, want.Hi, 1e-6) ||
			got.N != want.N || got.Confidence != want.Confidence {
			t.Errorf("%v: %+v, want %+v", xs, got, want)
		}
	}
	f(Interval{})
	f(Interval{Center: 3, Lo: 3, Hi: 3, N: 1}, 3)
	f(Interval{Center: 3, Lo: 2, Hi: 4, N: 2}, 4, 2)
	f(Interval{Center: 10, Lo: 10, Hi: 10, N: 3, Confidence: 0.95}, 10, 10, 10)
	f(Interval{Center: 0, Lo: -4.302653 / math.Sqrt(3), Hi: 4.302653 / math.Sqrt(3), N: 3, Confidence: 0.95}, -1, 0, 1)
	f(Interval{Center: 100, Lo: 10, Hi: 1000, N: 7, Confidence: 0.95}, 1, 10000, 100, 100, 100, 100, 100)
}
