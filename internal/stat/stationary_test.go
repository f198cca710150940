package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// likeNeighbours draws the deviations of seconds: an autoregressive process of that correlation and standard deviation.
func likeNeighbours(r *rand.Rand, n int, correlation, sd float64) []float64 {
	xs := make([]float64, n)
	e := sd * r.NormFloat64()
	for i := range xs {
		xs[i] = e
		e = correlation*e + math.Sqrt(1-correlation*correlation)*sd*r.NormFloat64()
	}
	return xs
}

// TestStationary warms up for at most 20 s, asking after each second, as a trial does.
func TestStationary(t *testing.T) {
	t.Parallel()
	const times = 1000 / scale
	flat := func(float64) float64 { return 1 }
	rise := func(tau float64) func(float64) float64 {
		return func(s float64) float64 { return 1 - 0.5*math.Exp(-s/tau) }
	}
	// settles is the least share of warm-ups that are called over in time, by that mean second at the latest; early the
	// greatest share of those that are called over although more than a tenth is missing.
	f := func(name string, shape func(second float64) float64, correlation, sd, settles, by, early float64) {
		t.Helper()
		r := rand.New(rand.NewPCG(1, uint64(1000*(correlation+sd))))
		over, sum, wrong := 0, 0, 0
		for range times {
			xs := likeNeighbours(r, 20, correlation, sd)
			for i := range xs {
				xs[i] = 5000 * shape(float64(i)) * (1 + xs[i])
			}
			for n := 1; n <= len(xs); n++ {
				from, ok := Stationary(xs[:n])
				if from > n/2 {
					t.Fatalf("%s: %d of %d seconds cut", name, from, n)
				}
				if ok {
					over++
					sum += n
					if shape(float64(n)) < 0.9*shape(1e9) {
						wrong++
					}
					break
				}
			}
		}
		if testing.Verbose() {
			t.Logf("%s, correlation %v, noise %v: over in %.1f %% after %.1f s, too early in %.1f %%", name,
				correlation, sd, 100*float64(over)/times, float64(sum)/float64(max(over, 1)), 100*float64(wrong)/times)
		}
		if got := float64(over) / times; got < settles-chance(settles, times) {
			t.Errorf("%s, correlation %v, noise %v: over in %.1f %%, want %.0f", name, correlation,
				sd, 100*got, 100*settles)
		}
		if got := float64(sum) / float64(max(over, 1)); got > by {
			t.Errorf("%s, correlation %v, noise %v: over after %.1f s, want %v", name, correlation, sd, got, by)
		}
		if got := float64(wrong) / times; got > early+chance(early, times) {
			t.Errorf("%s, correlation %v, noise %v: too early in %.1f %%, want %.0f", name, correlation,
				sd, 100*got, 100*early)
		}
	}
	for _, noise := range []struct{ correlation, sd float64 }{
		{0, 0.01},
		{0, 0.03},
		{0.5, 0.03},
		{0.8, 0.03},
		{0.9, 0.05},
	} {
		f("level", flat, noise.correlation, noise.sd, 0.99, 8, 0)
		f("short warm-up", rise(2), noise.correlation, noise.sd, 0.92, 13.5, 0.01)
		f("warm-up", rise(5), noise.correlation, noise.sd, 0, 20, 0.05)
		f("long warm-up", rise(10), noise.correlation, noise.sd, 0, 20, 0.2)
	}
	f("level", flat, 0, 0.1, 0.99, 8, 0)
	f("cold for three seconds", func(s float64) float64 {
		if s < 3 {
			return 0.3
		}
		return 1
	}, 0, 0.02, 0.95, 12, 0.01)
}

func TestStationaryBySight(t *testing.T) {
	f := func(from int, ok bool, xs ...float64) {
		t.Helper()
		if gotFrom, gotOK := Stationary(xs); gotOK != ok || ok && gotFrom != from {
			t.Errorf("%v: %d, %v, want %d, %v", xs, gotFrom, gotOK, from, ok)
		}
	}
	f(0, false)
	f(0, false, 5, 5, 5, 5, 5)
	f(0, true, 5, 5, 5, 5, 5, 5)
	f(2, true, 1, 3, 5, 5, 5, 5, 5, 5)
	f(0, false, 1, 2, 3, 4, 5, 6, 7, 8)
	f(0, true, 0, 0, 0, 0, 0, 0)
}

func TestSlope(t *testing.T) {
	f := func(want float64, xs ...float64) {
		t.Helper()
		if got := Slope(xs); !near(got, want, 1e-12) {
			t.Errorf("%v: %v, want %v", xs, got, want)
		}
	}
	f(0)
	f(0, 1, 2)
	f(0, 7, 7, 7)
	f(0.2, 90, 100, 110)
	f(-0.2, 110, 100, 90)
	f(0, -1, -2, -3)
}
