package digest

import (
	"math"
	"testing"
)

// TestRank95 follows pt-query-digest: the greatest below ten values, else the one above which the top 5 % begin.
func TestRank95(t *testing.T) {
	f := func(n, want uint64) {
		t.Helper()
		if got := Rank95(n); got != want {
			t.Errorf("of %d values it is number %d, want %d", n, got, want)
		}
	}
	f(0, 0)
	f(1, 1)
	f(2, 2)
	f(9, 9)
	f(10, 9)
	f(20, 19)
	f(21, 19)
	f(100, 95)
	f(1000, 950)
	f(math.MaxUint64, math.MaxUint64/100*95+math.MaxUint64%100*95/100)
}
