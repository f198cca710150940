package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// pairs makes pairs of the given ratios in balanced order.
func pairs(ratios ...float64) []Pair {
	ps := make([]Pair, len(ratios))
	for i, r := range ratios {
		ps[i] = Pair{Baseline: 1000, Variant: 1000 * r, VariantFirst: i%2 == 1}
	}
	return ps
}

func TestPairedRatio(t *testing.T) {
	f := func(center, lo, hi float64, ratios ...float64) {
		t.Helper()
		x, err := PairedRatio(pairs(ratios...), 0.95)
		if err != nil || !near(x.Center, center, 1e-9) || !near(x.Lo, lo, 1e-9) || !near(x.Hi, hi, 1e-9) ||
			x.N != len(ratios) || x.Confidence != 0.95 {
			t.Errorf("%v: %+v, %v, want %v from %v to %v", ratios, x, err, center, lo, hi)
		}
	}
	f(2, 2, 2, 2, 2, 2)
	f(2, 1, 4, 1, 4, 2, 2, 2, 2) // six: all Walsh averages, from the smallest to the largest
	// eight: a wild pair leaves centre and near end, the far end is between
	f(2, 2, math.Sqrt(2000), 2, 2, 2, 2, 2, 2, 2, 1000)
	f(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1000) // twelve: it moves nothing
	h := math.Exp(4.302652729911275 * math.Ln2 / math.Sqrt(3))
	f(2, 2/h, 2*h, 1, 2, 4)

	bad := func(ps ...Pair) {
		t.Helper()
		if x, err := PairedRatio(ps, 0.95); !errors.Is(err, ErrPairs) {
			t.Errorf("%v: %v, %v", ps, x, err)
		}
	}
	good := Pair{Baseline: 1, Variant: 2}
	bad()
	bad(good, good)
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		bad(good, good, good, Pair{Baseline: v, Variant: 1})
		bad(good, good, good, Pair{Baseline: 1, Variant: v})
	}
	if _, err := PairedRatio(pairs(1, 1, 1), 1); !errors.Is(err, ErrPairs) {
		t.Errorf("confidence 1: %v", err)
	}
	if x, err := PairedRatio(pairs(make([]float64, 1000)...), 0.95); err == nil {
		t.Errorf("zeros: %v", x)
	}
	many := make([]float64, 1000)
	for i := range many {
		many[i] = 1.5 + 0.1*math.Sin(float64(i))
	}
	if x, err := PairedRatio(pairs(many...), 0.95); err != nil || x.Lo > 1.5 || x.Hi < 1.49 || x.Hi-x.Lo > 0.02 {
		t.Errorf("a thousand pairs: %v, %v", x, err)
	}
}

func TestJudge(t *testing.T) {
	f := func(want Result, reason string, ps []Pair) {
		t.Helper()
		v := Judge(ps, Rules{Metric: "qps"})
		all := strings.Join(v.Reasons, "\n")
		if v.Result != want || !strings.Contains(all, reason) || reason == "" && all != "" || v.Metric != "qps" ||
			v.Margin != DefaultMargin {
			t.Errorf("%+v, want %s %q", v, want, reason)
		}
		// The mirror image.
		swapped := make([]Pair, len(ps))
		for i, p := range ps {
			p.Baseline, p.Variant = p.Variant, p.Baseline
			swapped[i] = p
		}
		mirror := map[Result]Result{Better: Worse, Worse: Better, Same: Same, Unstable: Unstable, Invalid: Invalid}
		if m := Judge(swapped, Rules{}); m.Result != mirror[want] {
			t.Errorf("swapped: %+v, want %s", m, mirror[want])
		}
		if m := Judge(swapped, Rules{LowerIsBetter: true}); m.Result != want || !near(m.Ratio.Lo, v.Ratio.Lo, 1e-9) ||
			!near(m.Ratio.Center, v.Ratio.Center, 1e-9) {
			t.Errorf("swapped and lower is better: %+v, want %s", m, want)
		}
	}
	f(Better, "", pairs(1.5, 1.51, 1.49, 1.5, 1.52, 1.48))
	f(Better, "", pairs(237, 230, 241, 236, 239, 240))
	f(Worse, "", pairs(0.5, 0.51, 0.49, 0.5, 0.52, 0.48))
	f(Same, "", pairs(1, 1.001, 0.999, 1.002, 0.998, 1))
	f(Same, "", pairs(1.01, 1.011, 1.009, 1.01, 1.012, 1.01))           // above 1 for sure, but within the margin
	f(Unstable, "", pairs(1.01, 1.015, 1.028, 1.013, 1.018, 1.017))     // may lie beyond the margin, or not
	f(Unstable, "from pair to pair", pairs(1.5, 0.7, 1.4, 0.6, 1.1, 1)) //
	f(Better, "only 4 pairs", pairs(1.5, 1.51, 1.49, 1.5))              //
	f(Better, "only 3 pairs", pairs(1.5, 1.51, 1.49))                   //
	f(Invalid, "at least 3 pairs", pairs(1.5, 1.5))                     //
	// a variant that delivers nothing is not left out
	f(Invalid, "only positive", pairs(1.5, 1.5, 1.5, 1.5, 1.5, 0))
	f(Invalid, "only positive", pairs(1.5, 1.5, 1.5, 1.5, 1.5, -1))       //
	f(Invalid, "only positive", pairs(1.5, 1.5, 1.5, 1.5, math.NaN(), 1)) //

	ps := pairs(1.5, 1.51, 1.49, 1.5, 1.52, 1.48)
	ps[2] = Pair{Invalid: "the load had died"}
	f(Better, "pair 3 does not count: the load had died", ps)
	ps[3] = Pair{Invalid: "again"}
	f(Better, "only 4 pairs", ps)
	ps[4] = Pair{Invalid: "again"}
	f(Invalid, "3 of 6 pairs do not count", ps)
	ps[5] = Pair{Invalid: "again"}
	f(Invalid, "at least 3 pairs", ps)
}

func TestMarginAndConfidence(t *testing.T) {
	ps := pairs(1.03, 1.031, 1.029, 1.03, 1.032, 1.028)
	if v := Judge(ps, Rules{}); v.Result != Better || v.Ratio.Confidence != 0.95 {
		t.Error(v)
	}
	if v := Judge(ps, Rules{Margin: 0.05}); v.Result != Same || v.Margin != 0.05 {
		t.Error(v)
	}
	wide, narrow := Judge(ps, Rules{Confidence: 0.99}).Ratio, Judge(ps, Rules{Confidence: 0.8}).Ratio
	if wide.Hi-wide.Lo <= narrow.Hi-narrow.Lo || wide.Confidence != 0.99 {
		t.Errorf("99 %%: %v, 80 %%: %v", wide, narrow)
	}
}

// measured makes n pairs with noise, a drift per window and an effect of being first.
func measured(seed uint64, n int, ratio, noise, drift, first float64) []Pair {
	r := rand.New(rand.NewPCG(seed, 5))
	var ps []Pair
	for i := range n {
		p := Pair{VariantFirst: i%2 == 1}
		for w := range 2 {
			x := 1000 * math.Exp(noise*r.NormFloat64()+drift*float64(2*i+w))
			if w == 0 {
				x *= first
			}
			if p.VariantFirst == (w == 0) {
				p.Variant = x * ratio
			} else {
				p.Baseline = x
			}
		}
		ps = append(ps, p)
	}
	return ps
}

func TestWarnings(t *testing.T) {
	has := func(reason string, share float64, make func(seed uint64) []Pair) {
		t.Helper()
		const seeds = 200
		n := 0
		for seed := range uint64(seeds) {
			if strings.Contains(strings.Join(Judge(make(seed), Rules{}).Reasons, "\n"), reason) {
				n++
			}
		}
		if got := float64(n) / seeds; share > 0 && got < share || share == 0 && got > 0.03 {
			t.Errorf("%q in %.0f %% of measurements, want %.0f %%", reason, 100*got, 100*share)
		}
	}
	quiet := func(seed uint64) []Pair { return measured(seed, 8, 1.3, 0.02, 0, 1) }
	has("drifted", 0, quiet)
	has("measured first", 0, quiet)
	has("pair to pair", 0, quiet)
	has("drifted by +", 0.95, func(seed uint64) []Pair { return measured(seed, 8, 1.3, 0.02, 0.03, 1) })
	has("drifted by -", 0.95, func(seed uint64) []Pair { return measured(seed, 8, 1.3, 0.02, -0.03, 1) })
	has("lower: carry-over", 0.95, func(seed uint64) []Pair { return measured(seed, 12, 1.3, 0.02, 0, 0.9) })
	has("higher: carry-over", 0.95, func(seed uint64) []Pair { return measured(seed, 12, 1.3, 0.02, 0, 1.1) })
	has("pair to pair", 0.8, func(seed uint64) []Pair { return measured(seed, 8, 1.3, 0.2, 0, 1) })
}

// TestOrderOfTimes: what is measured first takes longer, and the warning says so of values of which less is better,
// too.
func TestOrderOfTimes(t *testing.T) {
	for first, want := range map[float64]string{1.1: "higher: carry-over", 0.9: "lower: carry-over"} {
		const seeds = 50
		n := 0
		for seed := range uint64(seeds) {
			reasons := strings.Join(Judge(measured(seed, 12, 1.3, 0.02, 0, first), Rules{LowerIsBetter: true}).Reasons,
				"\n")
			n += b2i(strings.Contains(reasons, want))
		}
		if n < seeds*9/10 {
			t.Errorf("first ×%v: %q in %d of %d measurements", first, want, n, seeds)
		}
	}
}

// TestDriftAndOrderDoNotDecide shows that a steady drift and an order effect, both far larger than the margin, are no
// difference.
func TestDriftAndOrderDoNotDecide(t *testing.T) {
	for _, c := range []struct{ drift, first float64 }{{0.05, 1}, {-0.05, 1}, {0, 0.8}, {0.02, 1.1}} {
		wrong := 0
		const seeds = 500
		for seed := range uint64(seeds) {
			if v := Judge(measured(seed, 8, 1, 0.02, c.drift, c.first), Rules{}).Result; v == Better || v == Worse {
				wrong++
			}
		}
		if float64(wrong)/seeds > 0.05 {
			t.Errorf("drift %v, first %v: %d of %d find a difference", c.drift, c.first, wrong, seeds)
		}
	}
}

// TestRealDifferenceIsFound injects +10 % under 3 % of noise.
func TestRealDifferenceIsFound(t *testing.T) {
	found := 0
	const seeds = 500
	for seed := range uint64(seeds) {
		if Judge(measured(seed, 8, 1.1, 0.03, 0, 1), Rules{}).Result == Better {
			found++
		}
	}
	if found < seeds*95/100 {
		t.Errorf("found in %d of %d", found, seeds)
	}
}
