package stat

import "testing"

func TestSteady(t *testing.T) {
	f := func(want Stability, trials ...[]float64) {
		t.Helper()
		got := Steady(trials)
		if got.Seconds != want.Seconds || got.Stalls != want.Stalls || !near(got.Median, want.Median, 1e-9) ||
			!near(got.Low, want.Low, 1e-9) || !near(got.CV, want.CV, 1e-9) {
			t.Errorf("%v: %+v, want %+v", trials, got, want)
		}
	}
	f(Stability{})
	f(Stability{}, nil, []float64{})
	f(Stability{Seconds: 1, Median: 5, Low: 1}, []float64{5})
	f(Stability{Seconds: 6, Median: 15, Low: 1}, []float64{10, 10, 10}, []float64{20, 20, 20}) // levels of their own
	f(Stability{Seconds: 3, Median: 10, Low: 0.91, CV: 0.1}, []float64{9, 10, 11})
	f(Stability{Seconds: 5, Median: 10, Low: 0.2, CV: 0.5590169943749475, Stalls: 1}, []float64{10, 10, 10, 10, 0})
	f(Stability{Seconds: 2}, []float64{0, 0})
}
