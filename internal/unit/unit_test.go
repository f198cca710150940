package unit_test

import (
	"math"
	"testing"

	"dyno/internal/unit"
)

func TestOdd(t *testing.T) {
	for name, f := range map[string]func(float64) string{
		"Count": unit.Count, "Seconds": unit.Seconds, "Bytes": unit.Bytes, "Percent": unit.Percent, "Ratio": unit.Ratio,
		"Rate": func(v float64) string { return unit.Rate(v, "rows/s") },
	} {
		if got := f(math.NaN()); got != unit.Unknown {
			t.Errorf("%s of no number: %q", name, got)
		}
		if got := f(math.Inf(1)); got == "" || got == unit.Unknown {
			t.Errorf("%s of +Inf: %q", name, got)
		}
		for _, v := range []float64{0, 1e-300, 5e-324, 1e300, math.MaxFloat64, -1e300, -math.MaxFloat64, math.Inf(-1)} {
			if got := f(v); got == "" || len(got) > 340 {
				t.Errorf("%s(%g) = %q", name, v, got)
			}
		}
	}
}
