package digest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
)

// reportOf returns the report of classes whose statements are given minute by minute.
func reportOf(classes map[string][][]float64) Report {
	r := Report{Version: Version, Global: Global{
		Source: "slow_log", Attributes: map[string]Figures{},
		First: time.Unix(0, 0), Classes: len(classes),
	}}
	var total float64
	for id, minutes := range classes {
		var all []float64
		m := Minutes{StepSec: 60, Start: r.Global.First}
		for _, xs := range minutes {
			var sum float64
			for _, x := range xs {
				sum += x
			}
			all = append(all, xs...)
			m.Counts, m.QuerySec = append(m.Counts, uint64(len(xs))), append(m.QuerySec, sum)
		}
		f := Figures{Count: uint64(len(all)), Min: known.Of(slices.Min(all)), Max: known.Of(slices.Max(all))}
		for _, x := range all {
			f.Sum += x
		}
		f.Avg = f.Sum / float64(f.Count)
		var squares float64
		for _, x := range all {
			squares += (x - f.Avg) * (x - f.Avg)
		}
		if f.Count > 1 {
			f.Stddev = known.Of(math.Sqrt(squares / float64(f.Count-1)))
		} else {
			f.Stddev = known.Of(0.0)
		}
		slices.Sort(all)
		f.P95, f.Median = known.Of(all[len(all)*95/100]), known.Of(all[len(all)/2])
		r.Classes = append(r.Classes, Row{
			ID: id, Fingerprint: "select " + id, Count: f.Count,
			Attributes: map[string]Figures{timeKey: f}, PerMinute: m,
		})
		r.Global.Count += f.Count
		total += f.Sum
		r.Global.Last = r.Global.First.Add(max(r.Global.Last.Sub(r.Global.First),
			time.Duration(len(minutes))*time.Minute))
	}
	for i := range r.Classes {
		r.Classes[i].Share = r.Classes[i].Attributes[timeKey].Sum / total
	}
	r.Global.Entries = r.Global.Count
	r.Global.Attributes[timeKey] = Figures{Count: r.Global.Count, Sum: total}
	slices.SortFunc(r.Classes, func(a, b Row) int { // maps have no order
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return r
}

// draw returns the statements of a class in so many minutes, about per of them in each.
type draw func(r *rand.Rand, minutes, per int) [][]float64

// independent statements have nothing in common.
func independent(one func(r *rand.Rand) float64) draw {
	return func(r *rand.Rand, minutes, per int) (out [][]float64) {
		for range minutes {
			xs := make([]float64, per+r.IntN(per+1))
			for i := range xs {
				xs[i] = one(r)
			}
			out = append(out, xs)
		}
		return out
	}
}

// shared statements have a level that goes from minute to minute, each half like the one before: log-normal, with that
// spread.
func shared(sigma float64, one func(r *rand.Rand) float64) draw {
	return func(r *rand.Rand, minutes, per int) (out [][]float64) {
		level := sigma * r.NormFloat64()
		for range minutes {
			level = 0.5*level + math.Sqrt(0.75)*sigma*r.NormFloat64()
			xs := make([]float64, per+r.IntN(per+1))
			for i := range xs {
				xs[i] = math.Exp(level) * one(r)
			}
			out = append(out, xs)
		}
		return out
	}
}

func logNormal(sigma float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return 0.002 * math.Exp(sigma*r.NormFloat64()) }
}

// outliers are even, but one of five hundred takes a hundred times as long.
func outliers(r *rand.Rand) float64 {
	x := 0.001 * (1 + 0.2*r.Float64())
	if r.IntN(500) == 0 {
		x *= 100
	}
	return x
}

// TestFalseAlarms compares two draws of the same classes again and again, and counts the comparisons that call any of
// them slower or faster.
func TestFalseAlarms(t *testing.T) {
	const rounds, each = simulations, 10
	f := func(name string, d draw, minutesA, perA, minutesB, perB int, most float64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			alarms := 0
			for range rounds {
				a, b := map[string][][]float64{}, map[string][][]float64{}
				for i := range each {
					id := fmt.Sprint(i)
					a[id], b[id] = d(r, minutesA, perA), d(r, minutesB, perB)
				}
				c := Compare(reportOf(a), reportOf(b), "a", "b", CompareOptions{})
				if c.Totals[Slower]+c.Totals[Faster] > 0 {
					alarms++
				}
			}
			share := float64(alarms) / rounds
			t.Logf("%.1f %% false alarms", 100*share)
			if share > most {
				t.Errorf("%.1f %% false alarms, more than %.1f %%", 100*share, 100*most)
			}
		})
	}
	most := 0.05 + 2*math.Sqrt(0.05*0.95/rounds) // two standard errors above what is promised
	exponential := func(r *rand.Rand) float64 { return r.ExpFloat64() / 100 }
	f("exponential", independent(exponential), 20, 20, 20, 20, most)
	f("exponential, one minute", independent(exponential), 1, 200, 1, 200, most)
	f("exponential, few against many", independent(exponential), 1, 30, 30, 100, most)
	f("heavy tail", independent(logNormal(1.5)), 20, 30, 20, 30, most)
	f("heavy tail, few against many", independent(logNormal(1.5)), 1, 40, 30, 60, most)
	f("rare outliers", independent(outliers), 20, 30, 20, 30, most)
	f("rare outliers, few against many", independent(outliers), 1, 60, 30, 60, most)
	f("minutes of their own level", shared(0.3, logNormal(0.5)), 30, 20, 30, 20, most)
	f("minutes of their own level, few", shared(0.5, logNormal(0.5)), 10, 40, 12, 20, most)
	f("minutes of their own level, large", shared(1, logNormal(0.3)), 30, 20, 30, 40, most)
}

// TestRealDifferencesAreFound looks for what everybody would call slower.
func TestRealDifferencesAreFound(t *testing.T) {
	f := func(name string, d draw, factor float64, minutes, per int, want ClassVerdict, least float64) {
		t.Helper()
		const rounds = simulations * 2 / 5
		r := rand.New(rand.NewPCG(3, 4))
		found := 0
		for range rounds {
			a, b := map[string][][]float64{}, map[string][][]float64{}
			for i := range 10 {
				id := fmt.Sprint(i)
				a[id], b[id] = d(r, minutes, per), d(r, minutes, per)
			}
			for _, xs := range b["4"] {
				for i := range xs {
					xs[i] *= factor
				}
			}
			c := Compare(reportOf(a), reportOf(b), "a", "b", CompareOptions{})
			i := slices.IndexFunc(c.Classes, func(x ClassCompared) bool { return x.ID == "4" })
			if c.Classes[i].Change == want {
				found++
			}
			if iv, ok := c.Classes[i].Mean.Get(); !ok || iv.Lo > iv.Center || iv.Center > iv.Hi {
				t.Fatalf("%s: the interval is %+v", name, iv)
			}
		}
		if share := float64(found) / rounds; share < least {
			t.Errorf("%s: ×%g was called %s in %.0f %% of the rounds, not %.0f %%", name, factor,
				want, 100*share, 100*least)
		}
	}
	exponential := func(r *rand.Rand) float64 { return r.ExpFloat64() / 100 }
	f("exponential", independent(exponential), 1.5, 20, 50, Slower, 0.95)
	f("exponential", independent(exponential), 1/1.5, 20, 50, Faster, 0.95)
	f("exponential, one minute", independent(exponential), 2, 1, 500, Slower, 0.95)
	f("heavy tail", independent(logNormal(1.5)), 3, 20, 100, Slower, 0.8)
	f("minutes of their own level", shared(0.3, logNormal(0.5)), 3, 30, 20, Slower, 0.65)
	f("even", independent(func(r *rand.Rand) float64 { return 0.01 * (1 + 0.1*r.Float64()) }), 1.02,
		20, 30, Unchanged, 0.99)
}

// TestOneStatementDecidesNothing gives one side a single statement that outweighs all others.
func TestOneStatementDecidesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	even := independent(func(r *rand.Rand) float64 { return 0.01 * (1 + 0.2*r.Float64()) })
	a, b := even(r, 20, 20), even(r, 20, 20)
	b[5][0] = 600
	c := Compare(reportOf(map[string][][]float64{"x": a}), reportOf(map[string][][]float64{"x": b}),
		"a", "b", CompareOptions{})
	if got := c.Classes[0].Change; got != Unclear {
		t.Errorf("one statement of ten minutes makes its class %s", got)
	}
}

// TestBetweenMinutes compares the variance of a mean with what it comes from, over many draws.
func TestBetweenMinutes(t *testing.T) {
	f := func(name string, d draw, least, most float64) {
		t.Helper()
		r := rand.New(rand.NewPCG(5, 6))
		const rounds = 400
		var means []float64
		var told float64
		for range rounds {
			x := reportOf(map[string][][]float64{"x": d(r, 40, 20)}).Classes[0]
			means = append(means, math.Log(x.Attributes[timeKey].Avg))
			v, _, _ := betweenSteps(x.PerMinute)
			told += v / rounds
		}
		var sum, squares float64
		for _, x := range means {
			sum += x
		}
		for _, x := range means {
			squares += (x - sum/rounds) * (x - sum/rounds)
		}
		if got := told / (squares / (rounds - 1)); got < least || got > most {
			t.Errorf("%s: the variance is told %.2f times what it is, want %g to %g", name, got, least, most)
		}
	}
	f("independent", independent(func(r *rand.Rand) float64 { return r.ExpFloat64() }), 1.2, 2.6)
	f("levels", shared(0.4, logNormal(0.3)), 1.2, 2.6)
	if v, _, steps := betweenSteps(Minutes{Counts: []uint64{1, 2}, QuerySec: []float64{1, 2}}); !math.IsNaN(v) ||
		steps != 2 {
		t.Errorf("two minutes tell a variance of %v over %v steps", v, steps)
	}
	if v, _, _ := betweenSteps(Minutes{Counts: make([]uint64, 20)}); !math.IsNaN(v) {
		t.Errorf("counts without times tell a variance of %v", v)
	}
}

// TestTailAgainstTables compares with Student's distribution as any table has it.
func TestTailAgainstTables(t *testing.T) {
	f := func(p, df, want float64) {
		t.Helper()
		if got := studentQuantile(p, df); math.Abs(got/want-1) > 0.025 {
			t.Errorf("studentQuantile(%v, %v) = %.4f, want %.4f", p, df, got, want)
		}
		if got := studentTail(studentQuantile(p, df), df); math.Abs(got/p-1) > 1e-9 {
			t.Errorf("the tail beyond studentQuantile(%v, %v) is %v", p, df, got)
		}
	}
	f(0.05, 5, 2.5706)
	f(0.01, 5, 4.0321)
	f(0.001, 5, 6.8688)
	f(0.05, 10, 2.2281)
	f(0.001, 10, 4.5869)
	f(0.05, 30, 2.0423)
	f(0.001, 30, 3.6460)
	f(0.05, 1e6, 1.95996)
	f(0.0001, 1e6, 3.8906)
}

// TestWithout checks the figures of what is left against the values themselves.
func TestWithout(t *testing.T) {
	x := reportOf(map[string][][]float64{"x": {{1, 2, 3, 4, 100}}})
	y := reportOf(map[string][][]float64{"x": {{1, 2, 3, 4}}})
	m, reason := timeMomentsOf(&x, &x.Classes[0])
	w, _ := timeMomentsOf(&y, &y.Classes[0])
	if reason != "" {
		t.Fatal(reason)
	}
	got := m.without()
	if got.n != w.n || math.Abs(got.sum-w.sum) > 1e-9 || math.Abs(got.sd-w.sd) > 1e-9 {
		t.Errorf("left are %+v, want %+v", got, w)
	}
}

func TestDecide(t *testing.T) {
	f := func(lo, center, hi float64, want ClassVerdict) {
		t.Helper()
		if got, _ := decideChange(stat.Interval{Lo: lo, Center: center, Hi: hi}, 0.1); got != want {
			t.Errorf("[%v, %v, %v] is %s, want %s", lo, center, hi, got, want)
		}
	}
	f(1.2, 1.5, 1.9, Slower)
	f(1.01, 1.5, 1.9, Slower)
	f(0.5, 0.6, 0.7, Faster)
	f(0.95, 1, 1.05, Unchanged)
	f(1.01, 1.03, 1.05, Unchanged)
	f(0.8, 1.2, 1.6, Unclear)
	f(1.01, 1.05, 1.2, Unclear)
}
