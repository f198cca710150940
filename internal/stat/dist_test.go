package stat

import (
	"math"
	"testing"
)

// TestStudentQuantile holds against the printed tables (Abramowitz and Stegun, table 26.10).
func TestStudentQuantile(t *testing.T) {
	f := func(confidence, df, want float64) {
		t.Helper()
		if got := studentQuantile(confidence, df); !near(got, want, 0.0006) {
			t.Errorf("%v, %v degrees: %v, want %v", confidence, df, got, want)
		}
	}
	f(0.95, 1, 12.706)
	f(0.95, 2, 4.303)
	f(0.95, 3, 3.182)
	f(0.95, 4, 2.776)
	f(0.95, 10, 2.228)
	f(0.95, 120, 1.980)
	f(0.99, 4, 4.604)
	f(0.90, 7, 1.895)
	f(0.95, 1e6, 1.960)
	for _, df := range []float64{0.7, 1, 1.5, 2, 3, 5, 9, 19, 200, 1e5} { // and is the inverse of what it should be
		for _, confidence := range []float64{0.001, 0.2, 0.5, 0.8, 0.95, 0.999, 0.9999999} {
			x := studentQuantile(confidence, df)
			if got := beyond(x, df); math.Abs(got/(1-confidence)-1) > 1e-8 {
				t.Errorf("%v, %v degrees: %v, beyond which there is %v", confidence, df, x, got)
			}
		}
	}
}

// TestSignedRank holds against the exact distribution by counting all signs.
func TestSignedRank(t *testing.T) {
	for n := 1; n <= 12; n++ {
		total := n * (n + 1) / 2
		count := make([]int, total+1)
		for signs := range 1 << n {
			s := 0
			for r := range n {
				if signs>>r&1 == 1 {
					s += r + 1
				}
			}
			count[s]++
		}
		for _, confidence := range []float64{0.8, 0.9, 0.95, 0.99} {
			k, tail := 0, 0
			for k < len(count) {
				tail += count[k]
				if 2*float64(tail)/float64(int(1)<<n) > 1-confidence+1e-12 {
					break
				}
				k++
			}
			if got := signedRank(n, confidence); got != k {
				t.Errorf("%d values, %v: %d, want %d", n, confidence, got, k)
			}
		}
	}
	// The tables of the trade: the smallest sum of ranks that is significant at 5 % is one less.
	f := func(n, want int) {
		t.Helper()
		if got := signedRank(n, 0.95); got != want {
			t.Errorf("%d values: %d, want %d", n, got, want)
		}
	}
	f(5, 0)
	f(6, 1)
	f(8, 4)
	f(10, 9)
	f(12, 14)
}

func TestTrend(t *testing.T) {
	f := func(s int, p float64, xs ...float64) {
		t.Helper()
		gs, gp := trend(xs)
		if gs != s || !near(gp, p, 1e-12) {
			t.Errorf("%v: %d, %v, want %d, %v", xs, gs, gp, s, p)
		}
	}
	f(0, 1)
	f(0, 1, 5)
	f(3, 2.0/6, 1, 2, 3)
	f(-3, 2.0/6, 3, 2, 1)
	f(1, 1, 1, 3, 2)
	f(10, 2.0/120, 1, 2, 3, 4, 5)
	f(0, 1, 1, 1, 1, 1)
	if _, p := trend([]float64{1, 2, 3, 4, 5, 6, 8, 7}); math.Abs(p-2*8.0/40320) > 1e-12 {
		t.Errorf("one exchange in eight: %v", p) // 1 order without and 7 with one falling pair
	}
}
