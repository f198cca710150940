package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRatioCoverage proves Welch's interval where it is used: few trials of either side, of unequal spread and number.
func TestRatioCoverage(t *testing.T) {
	t.Parallel()
	const times = 1000 / scale
	draw := func(r *rand.Rand, n int, ratio, spread float64, noise noise) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 5000 * ratio * math.Exp(spread*noise.draw(r))
		}
		return xs
	}
	for _, noise := range noises() {
		for _, c := range []struct {
			na, nb int
			spread float64
			least  float64
		}{
			{3, 3, 1, 0.93},
			{3, 3, 4, 0.93},
			{3, 10, 1, 0.93},
			{5, 5, 1, 0.93},
			{5, 8, 0.3, 0.93},
			{12, 12, 1, 0.93},
			{12, 5, 3, 0.93},
		} {
			if c.spread != 1 && !strings.HasPrefix(noise.name, "n") && !strings.HasPrefix(noise.name, "h") &&
				!strings.HasPrefix(noise.name, "o") {
				continue // the middles themselves differ then
			}
			r := rand.New(rand.NewPCG(uint64(c.na), uint64(c.nb)))
			held := 0
			for range times {
				x, err := Ratio(draw(r, c.na, 1, 1, noise), draw(r, c.nb, 1.3, c.spread, noise), 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if x.N != min(c.na, c.nb) {
					t.Fatal(x)
				}
				held += b2i(x.Lo <= 1.3 && 1.3 <= x.Hi)
			}
			t.Logf("%s, %d and %d trials, spread ×%v: %.1f %%", noise.name, c.na, c.nb, c.spread,
				float64(held)/times*100)
			if got := float64(held) / times; got < c.least-chance(c.least, times) {
				t.Errorf("%s, %d and %d trials, spread ×%v: the interval of 95 %% holds the truth in %.1f %%",
					noise.name, c.na, c.nb, c.spread, 100*got)
			}
		}
	}
}

func TestRatio(t *testing.T) {
	f := func(want string, a, b []float64) {
		t.Helper()
		if x, err := Ratio(a, b, 0.95); !errors.Is(err, ErrPairs) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v: %v, %v", a, b, x, err)
		}
	}
	good := []float64{1, 2, 3}
	f("at least 3 trials and has 2", good[:2], good)
	f("at least 3 trials and has 0", good, nil)
	f("trial 2 is 0", good, []float64{1, 0, 2})
	f("trial 1 is -1", []float64{-1, 1, 1}, good)
	f("trial 3 is NaN", good, []float64{1, 1, math.NaN()})
	if _, err := Ratio(good, good, 1); !errors.Is(err, ErrPairs) {
		t.Error(err)
	}
	if x, err := Ratio([]float64{2, 2, 2}, []float64{3, 3, 3}, 0.95); err != nil || !near(x.Center, 1.5, 1e-12) ||
		!near(x.Lo, 1.5, 1e-12) || !near(x.Hi, 1.5, 1e-12) {
		t.Error(x, err)
	}
	// Computed apart, by numerical integration of Student's density: 7.2404 degrees of freedom, t = 2.3488, standard
	// error 0.082551.
	a := []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9}
	b := []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5}
	x, err := Ratio(a, b, 0.95)
	if err != nil || !near(x.Center, 1.12479, 1e-5) || !near(x.Lo, 0.92654, 1e-5) || !near(x.Hi, 1.36547, 1e-5) {
		t.Error(x, err)
	}
	y, _ := Ratio(b, a, 0.95)
	if !near(y.Lo, 1/x.Hi, 1e-12) || !near(y.Hi, 1/x.Lo, 1e-12) {
		t.Error(x, y)
	}
}

// TestApart proves the declared error rates of families that were not measured in pairs.
func TestApart(t *testing.T) {
	t.Parallel()
	const times, of = 1000 / scale, 6
	r := rand.New(rand.NewPCG(3, 3))
	wrong, same, found := 0, 0, 0
	for range times {
		cs := make([]Two, of)
		for i := range cs {
			ratio := 1.0
			switch i {
			case 1:
				ratio = 1.0201 // as great as the margin
			case 2:
				ratio = 1.2
			}
			for range 5 {
				cs[i].Baseline = append(cs[i].Baseline, math.Exp(0.01*r.NormFloat64()))
				cs[i].Variant = append(cs[i].Variant, ratio*math.Exp(0.02*r.NormFloat64()))
			}
		}
		any := false
		for i, v := range JudgeApart(cs, Rules{}) {
			switch i {
			case 1:
				same += b2i(v.Result == Same)
			case 2:
				found += b2i(v.Result == Better)
			default:
				any = any || v.Result == Better || v.Result == Worse
			}
		}
		wrong += b2i(any)
	}
	t.Logf("any wrong in %d, as great as the margin called the same in %d, +20 %% found in %d of %d", wrong,
		same, found, int(times))
	if most := int(times * (0.05 + chance(0.05, int(times)))); wrong > most || same > most {
		t.Errorf("wrong in %d, same in %d of %d", wrong, same, int(times))
	}
	if float64(found) < times*0.9 {
		t.Errorf("found in %d of %d", found, int(times))
	}
	vs := JudgeApart([]Two{{[]float64{1, 1}, []float64{1, 1, 1}}, {[]float64{100, 101, 99}, []float64{50, 51, 49}}},
		Rules{LowerIsBetter: true, Metric: "p95_ms"})
	if vs[0].Result != Invalid || len(vs[0].Reasons) != 1 || vs[1].Result != Better || vs[1].Favour != 1 ||
		!near(vs[1].Ratio.Center, 2, 0.01) {
		t.Errorf("%+v", vs)
	}
}

// TestApartLevels has trials of one side on two levels: however far both are from the other side, what decides between
// them is not known.
func TestApartLevels(t *testing.T) {
	steady := []float64{100, 100.1, 99.9, 100.05, 99.95, 100}
	vs := JudgeApart([]Two{
		{steady, []float64{130, 130.1, 129.9, 136, 136.1, 135.9}},
		{steady, []float64{130, 130.1, 129.9, 130, 130.1, 129.9}},
	}, Rules{})
	if v := vs[0]; v.Result != Unstable || !v.Withdrawn || v.Ratio.Lo < 1.02 ||
		!strings.HasPrefix(v.Reasons[0],
			"the trials of the variant fall into groups far apart: 3 near 130, 3 near 136") {
		t.Errorf("%+v", v)
	}
	if v := vs[1]; v.Result != Better || v.Withdrawn {
		t.Errorf("%+v", v)
	}
}
