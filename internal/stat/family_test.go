package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLooks goes through an experiment that grows.
func TestLooks(t *testing.T) {
	s := Schedule(3, 10, 0.95)
	r := rand.New(rand.NewPCG(1, 1))
	all := normal(0.01).measure(r, 10, []float64{math.Log(2), math.Log(0.97), 0})
	f := func(rounds int, closed ...int) []Verdict {
		t.Helper()
		part := make([][]Pair, len(all))
		for i, ps := range all {
			part[i] = ps[:rounds]
		}
		vs := JudgeAll(part, Rules{Sequence: &s})
		for i, v := range vs {
			if v.Closed != closed[i] {
				t.Errorf("%d rounds, comparison %d: closed %d, want %d (%+v)", rounds, i+1, v.Closed, closed[i], v)
			}
		}
		return vs
	}
	f(1, 0, 0, 0)
	f(2, 0, 0, 0)
	f(3, 0, 0, 0)
	f(5, 0, 0, 0)
	at6 := f(6, 6, 0, 0)
	f(9, 6, 0, 0)
	at10 := f(10, 6, 10, 10)
	if at6[0].Ratio != at10[0].Ratio || at10[0].Ratio.N != 6 {
		t.Errorf("what is closed changes: %+v, %+v", at6[0], at10[0])
	}
	for i, want := range []Result{Better, Worse, Same} {
		if v := at10[i]; v.Result != want || v.Confidence != 0.95 || v.Ratio.Confidence <= 0.95 {
			t.Errorf("%+v, want %s", v, want)
		}
	}
	// A comparison that ran no more rounds after it was closed is judged as if it had.
	all[0] = all[0][:6]
	f2 := JudgeAll(all, Rules{Sequence: &s})
	if f2[0].Ratio != at10[0].Ratio || f2[1].Ratio != at10[1].Ratio || f2[2].Ratio != at10[2].Ratio {
		t.Errorf("%+v", f2)
	}
	// Rounds that are not complete are no look.
	if v := JudgeAll(all, Rules{Sequence: &s, Rounds: 9}); v[2].Closed != 0 {
		t.Errorf("%+v", v[2])
	}
	// More comparisons were planned than there are: wider.
	few, many := JudgeAll(all, Rules{Sequence: &s})[1], JudgeAll(all, Rules{Sequence: &s, Family: 30})[1]
	if many.Ratio.Hi-many.Ratio.Lo <= few.Ratio.Hi-few.Ratio.Lo || many.Adjusted <= few.Adjusted {
		t.Errorf("%+v, %+v", few, many)
	}
}

// TestConsistent shows that what is said of a comparison agrees with the interval beside it.
func TestConsistent(t *testing.T) {
	s := Schedule(3, 10, 0.95)
	r := rand.New(rand.NewPCG(7, 7))
	said := map[Result]int{}
	for range 400 {
		truth := make([]float64, 1+r.IntN(12))
		for i := range truth {
			truth[i] = []float64{0, 0, 0.01, -0.02, 0.03, -0.05, 0.7}[r.IntN(7)]
		}
		rounds := 3 + r.IntN(8)
		rules := Rules{Sequence: &s, LowerIsBetter: r.IntN(2) == 0}
		for _, v := range JudgeAll(normal(0.002+0.02*r.Float64()).measure(r, rounds, truth), rules) {
			said[v.Result]++
			above := 1 + v.Margin
			x := v.Ratio
			bad := ""
			switch v.Result {
			case Better:
				bad = map[bool]string{false: "holds 1"}[x.Lo > 1 && x.Center > above]
				if v.Adjusted > 0.05 {
					bad = "is not sure"
				}
			case Worse:
				bad = map[bool]string{false: "holds 1"}[x.Hi < 1 && x.Center < 1/above]
				if v.Adjusted > 0.05 {
					bad = "is not sure"
				}
			case Same:
				bad = map[bool]string{false: "leaves the margin"}[x.Lo >= 1/above-1e-12 && x.Hi <= above+1e-12]
			case Unstable:
				if (x.Lo > 1 && x.Center > above || x.Hi < 1 && x.Center < 1/above || x.Lo >= 1/above &&
					x.Hi <= above) && len(v.Reasons) == 0 {
					bad = "decides, and no reason is given"
				}
			case Invalid:
			}
			if bad != "" || x.Center < x.Lo || x.Center > x.Hi || x.Confidence < 0.95 {
				t.Errorf("%s: the interval %s: %+v", v.Result, bad, v)
			}
		}
	}
	for _, want := range []Result{Better, Worse, Same, Unstable} {
		if said[want] < 100 {
			t.Errorf("%s only %d times: the test shows too little", want, said[want])
		}
	}
}

func TestTight(t *testing.T) {
	f := func(want bool, result Result, center, lo, hi float64) {
		t.Helper()
		if got := (Verdict{Result: result, Ratio: Interval{Center: center, Lo: lo, Hi: hi}}).Tight(0.02); got != want {
			t.Errorf("%s %v (%v to %v): %v", result, center, lo, hi, got)
		}
	}
	f(true, Better, 1.05, 1.03, 1.07)
	f(false, Better, 1.05, 1.02, 1.08)
	f(true, Better, 2, 1.9, 2.1) // a tenth of the effect
	f(false, Better, 2, 1.8, 2.2)
	f(true, Worse, 0.5, 0.48, 0.52)
	f(true, Same, 1, 0.99, 1.01)
	f(false, Unstable, 1, 0.99, 1.01)
	f(false, Invalid, 0, 0, 0)
	f(false, Better, 2, 0, 3)
}

// TestLevelsAreTold takes a machine where one trial in four is on another level.
func TestLevelsAreTold(t *testing.T) {
	f := func(want Result, reason string, ratios ...float64) {
		t.Helper()
		v := Judge(pairs(ratios...), Rules{})
		if v.Result != want || !strings.Contains(strings.Join(v.Reasons, "\n"), reason) ||
			v.Withdrawn != (want == Unstable) {
			t.Errorf("%v: %+v, want %s, %q", ratios, v, want, reason)
		}
	}
	f(Unstable, "groups far apart: 2 near ×0.50, 6 near ×1.00", 1, 1.01, 0.5, 0.99, 1, 0.505, 1.005, 1)
	f(Better, "All of them say the same", 2, 2.01, 1.5, 1.99, 2, 1.505, 2.005, 2, 2.01, 1.51)
	// One comparison of three pairs that agree, in an experiment where pairs do not.
	s := Schedule(3, 5, 0.95)
	wild := [][]float64{
		{1, 1.001, 0.5},
		{0.5, 1, 0.999},
		{1, 2, 1.001},
		{1.001, 1, 0.999},
		{0.5, 1, 1.001},
		{1, 1, 0.999},
	}
	all := [][]Pair{pairs(0.5, 0.5001, 0.5002)}
	for _, w := range wild {
		all = append(all, pairs(w...))
	}
	if v := JudgeAll(all, Rules{Sequence: &s})[0]; v.Result != Unstable || !v.Withdrawn ||
		!strings.Contains(v.Reasons[0], "4 of the experiment's 21 pairs") {
		t.Errorf("%+v", v)
	}
	for i := range all[1:] {
		all[1+i] = pairs(1, 1.001, 0.999)
	}
	if v := JudgeAll(all, Rules{Sequence: &s})[0]; v.Result != Worse {
		t.Errorf("%+v", v)
	}
}

func TestHolm(t *testing.T) {
	ps := []float64{0.01, 0.9, 0.012, 0.03}
	levels, adjusted, left := holm([]int{0, 1, 2, 3}, 0.05, 4, func(i int) float64 { return ps[i] })
	if len(levels) != 2 || levels[0] != 0.0125 || !near(levels[2], 0.05/3, 1e-12) || left != 0.025 {
		t.Error(levels, left)
	}
	for i, want := range []float64{0.04, 0.9, 0.04, 0.06} {
		if !near(adjusted[i], want, 1e-12) {
			t.Errorf("%d: %v, want %v", i, adjusted[i], want)
		}
	}
	if levels, _, left := holm(nil, 0.05, 0, nil); len(levels) != 0 || left != 0.05 {
		t.Error(levels, left)
	}
}

func TestFavour(t *testing.T) {
	f := func(want float64, ratios ...float64) {
		t.Helper()
		if v := Judge(pairs(ratios...), Rules{}); v.Favour != want {
			t.Errorf("%v: %v, want %v", ratios, v.Favour, want)
		}
	}
	f(1, 1.1, 1.2, 1.1)
	f(0.75, 1.1, 1.2, 1.1, 0.9)
	f(0.5, 1, 1, 1)
	f(0, 0.5, 0.5, 0.5)
}

func TestAllow(t *testing.T) {
	f := func(want float64, ps ...Pair) {
		t.Helper()
		if got := allow(ps); !near(got, want, 1e-9) {
			t.Errorf("%v: %v, want %v", ps, got, want)
		}
	}
	pair := func(level float64, variantFirst bool) Pair {
		return Pair{Baseline: math.Exp(level), Variant: math.Exp(level), VariantFirst: variantFirst}
	}
	f(0)
	f(0, pair(1, true), pair(1, true), pair(1, true))
	f(0.1, pair(1, true), pair(1.1, true), pair(1.2, true))
	f(0.1, pair(1, false), pair(0.9, false), pair(0.8, false))
	f(0.1/3, pair(1, true), pair(1.1, true), pair(1.2, false))
	f(0, pair(1, true), pair(1.1, false), pair(1.2, false), pair(1.3, true))
	v := Judge([]Pair{pair(1, true), pair(1.1, true), pair(1.2, true)}, Rules{})
	if v.Result != Unstable || v.Ratio.Lo > 0.91 || !strings.Contains(strings.Join(v.Reasons, "\n"),
		"the interval allows ±10.5 % for that") {
		t.Errorf("%+v", v)
	}
}
