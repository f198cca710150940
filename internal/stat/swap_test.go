package stat

import (
	"math"
	"testing"
)

func TestInverse(t *testing.T) {
	got := (Interval{Center: 2, Lo: 1, Hi: 4, N: 3, Confidence: 0.9}).Inverse()
	if want := (Interval{Center: 0.5, Lo: 0.25, Hi: 1, N: 3, Confidence: 0.9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (Interval{Center: 2, Lo: 0, Hi: 4}).Inverse(); math.IsInf(got.Hi, 0) || got.Hi < 1e15 {
		t.Errorf("the inverse of 0 is %v", got.Hi)
	}
}

// TestSwapped holds against judging the pairs with their sides exchanged.
func TestSwapped(t *testing.T) {
	f := func(want Result, ratios ...float64) {
		t.Helper()
		ps := pairs(ratios...)
		v := Judge(ps, Rules{})
		for i := range ps {
			ps[i].Baseline, ps[i].Variant, ps[i].VariantFirst = ps[i].Variant, ps[i].Baseline, !ps[i].VariantFirst
		}
		w, got := Judge(ps, Rules{}), v.Swapped()
		if got.Result != want || got.Result != w.Result || !near(got.Ratio.Center, w.Ratio.Center, 1e-9) ||
			!near(got.Ratio.Lo, w.Ratio.Lo, 1e-9) ||
			!near(got.Ratio.Hi, w.Ratio.Hi, 1e-9) || !near(got.Favour, w.Favour, 1e-9) {
			t.Errorf("%v: %+v, want %+v", ratios, got, w)
		}
	}
	f(Worse, 1.5, 1.6, 1.55, 1.52, 1.49, 1.58)
	f(Better, 0.5, 0.52, 0.49, 0.51, 0.5, 0.48)
	f(Same, 1, 1.001, 0.999, 1.002, 1, 0.998)
	f(Unstable, 1.2, 0.9, 1.1, 0.8, 1.3, 1)
	if got := (Verdict{Result: Invalid}).Swapped(); got.Result != Invalid || got.Ratio.N != 0 || got.Favour != 0 {
		t.Errorf("invalid: %+v", got)
	}
}
