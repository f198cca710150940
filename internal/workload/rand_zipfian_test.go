package workload

import (
	"math"
	"strconv"
	"testing"
)

// TestZipfianFollowsItsLaw compares draws with the exact probabilities: k^-e over the sum of all weights.
func TestZipfianFollowsItsLaw(t *testing.T) {
	const count = 200_000
	f := func(exponent string, n int) {
		t.Helper()
		v, err := Settle(oltpOptions(), map[string]string{"rand-type": randZipfian, "rand-zipfian-exp": exponent})
		if err != nil {
			t.Fatal(err)
		}
		d, err := distribute(v, n)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := strconv.ParseFloat(exponent, 64)
		came := make([]int, n+1)
		s := newSource(3, 7)
		for range count {
			k := d.draw(s)
			if k < 1 || k > n {
				t.Fatalf("exponent %s drew %d of 1 to %d", exponent, k, n)
			}
			came[k]++
		}
		var sum, below, drawn, most float64
		for k := 1; k <= n; k++ {
			sum += math.Pow(float64(k), -e)
		}
		for k := 1; k <= n; k++ {
			p := math.Pow(float64(k), -e) / sum
			below += p
			drawn += float64(came[k])
			most = max(most, math.Abs(drawn/count-below))
			// The first numbers are the hot ones, so that each must be right by itself.
			if sigma := math.Sqrt(count * p * (1 - p)); k <= 20 &&
				math.Abs(float64(came[k])-count*p) > 6*sigma+1e-9*count {
				t.Errorf("exponent %s of 1 to %d: %d came %d times, want about %.0f ± %.0f", exponent, n, k,
					came[k], count*p, sigma)
			}
		}
		// Kolmogorov's limit at one in ten million.
		if limit := math.Sqrt(-math.Log(1e-7/2) / 2 / count); most > limit {
			t.Errorf("exponent %s of 1 to %d: off by %.4f, more than chance allows (%.4f)", exponent, n, most, limit)
		}
	}
	for _, e := range []string{"0", "0.5", "0.8", "0.999999999", "1", "1.0000001", "1.3", "4", "100"} {
		f(e, 1)
		f(e, 2)
		f(e, 7)
		f(e, 10_000)
	}
	f("0.8", 1_000_000)
	f("1", 1_000_000)
}

func TestZipfianOfTheLargestTable(t *testing.T) {
	s := newSource(1, 1)
	for _, e := range []float64{0, 0.8, 1, 2, largestExponent} {
		z := newZipfian(e, maxRows)
		for range 1000 {
			if k := z.draw(s); k < 1 || k > maxRows {
				t.Fatalf("exponent %v drew %d", e, k)
			}
		}
	}
}

func TestZipfianShare(t *testing.T) {
	for _, e := range []float64{0, 0.8, 1, 1.5} {
		const n = 10_000
		var sum, hot float64
		for k := 1; k <= n; k++ {
			w := math.Pow(float64(k), -e)
			sum += w
			if k <= n/100 {
				hot += w
			}
		}
		z := newZipfian(e, n)
		if got := z.share(n / 100); math.Abs(got-hot/sum) > 0.03 {
			t.Errorf("exponent %v: %.3f of the draws to the first hundredth, want %.3f", e, got, hot/sum)
		}
	}
}
