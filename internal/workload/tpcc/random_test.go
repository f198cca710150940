package tpcc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func TestAppendLast(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		if got := string(appendLast(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	f(0, "BARBARBAR")
	f(371, "PRICALLYOUGHT") // the example of clause 4.3.2.3
	f(40, "BARPRESBAR")
	f(999, "EINGEINGEING")
	seen := map[string]bool{}
	for n := range 1000 {
		b := appendLast(nil, n)
		if len(b) > 16 {
			t.Errorf("%s does not fit the column", b)
		}
		seen[string(b)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different names", len(seen))
	}
}

// TestConstants holds the constants of many runs against clause 2.1.6.1.
func TestConstants(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(2000) {
		c := drawConstants(seed)
		d := max(c.last-loadLast, loadLast-c.last)
		if d < 65 || d > 119 || d == 96 || d == 112 || c.last < 0 || c.last > 255 || c.customer < 0 ||
			c.customer > 1023 || c.item < 0 || c.item > 8191 {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		if c != drawConstants(seed) {
			t.Fatal("the same seed gives others")
		}
		seen[c.last] = true
	}
	if len(seen) < 20 {
		t.Errorf("only %d different constants", len(seen))
	}
}

// TestUneven compares draws with the exact probabilities of the definition.
func TestUneven(t *testing.T) {
	const a, c, low, high, n = 255, 173, 0, 999, 2_000_000
	var want [high + 1]float64
	for x := range a + 1 {
		for y := low; y <= high; y++ {
			want[((x|y)+c)%(high-low+1)+low] += 1 / float64((a+1)*(high-low+1))
		}
	}
	var got [high + 1]int
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		got[uneven(r, a, c, low, high)]++
	}
	chi := 0.0
	cells := 0
	for i, w := range want {
		if e := w * n; e > 0 {
			chi += (float64(got[i]) - e) * (float64(got[i]) - e) / e
			cells++
		} else if got[i] > 0 {
			t.Fatalf("%d comes up and cannot", i)
		}
	}
	if limit := float64(cells) + 5*math.Sqrt(2*float64(cells)); chi > limit {
		t.Errorf("chi-square %.0f over %d cells, want at most %.0f", chi, cells, limit)
	}
}

func TestPermuted(t *testing.T) {
	f := func(key uint64, n int) (fixed int) {
		t.Helper()
		seen := make([]bool, n)
		for i := range n {
			x := permuted(key, i, n)
			if x < 0 || x >= n || seen[x] {
				t.Fatalf("key %d: %d of %d goes to %d, out of range or twice", key, i, n, x)
			}
			seen[x] = true
			if x == i {
				fixed++
			}
		}
		return fixed
	}
	for key := range uint64(50) {
		if fixed := f(mix(key), customers); fixed > 15 { // 1 on average
			t.Errorf("key %d leaves %d in place", key, fixed)
		}
		f(mix(key), 4096)
		f(mix(key), 1)
	}
	if permuted(1, 7, customers) == permuted(2, 7, customers) &&
		permuted(1, 8, customers) == permuted(2, 8, customers) {
		t.Error("the key decides nothing")
	}
}

func TestCents(t *testing.T) {
	f := func(n int64, text string) {
		t.Helper()
		if got := string(appendCents(nil, n)); got != text {
			t.Errorf("%d is written %s, want %s", n, got, text)
		}
		if got, ok := cents(workload.String(text)); got != n || !ok {
			t.Errorf("%s is read as %d, %v", text, got, ok)
		}
	}
	f(0, "0.00")
	f(5, "0.05")
	f(-10_00, "-10.00")
	f(9999_99, "9999.99")
	f(999_999_999_999, "9999999999.99")
	g := func(d workload.Datum, want int64, ok bool) {
		t.Helper()
		if got, is := cents(d); is != ok || ok && got != want {
			t.Errorf("%s is read as %d, %v", d, got, is)
		}
	}
	g(workload.String("7"), 700, true)
	g(workload.String("7.5"), 750, true)
	g(workload.Int(3), 300, true)
	g(workload.String("1.234"), 0, false)
	g(workload.String("1.2.3"), 0, false)
	g(workload.String(""), 0, false)
	g(workload.String("-"), 0, false)
	g(workload.String("x"), 0, false)
	g(workload.Datum{}, 0, false)
}
