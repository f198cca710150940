package unit_test

import (
	"testing"

	"dyno/internal/unit"
)

func TestCount(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := unit.Count(in); got != want {
			t.Errorf("Count(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0")
	f(0.5, "0.5")
	f(0.000123456, "0.000123")
	f(1, "1")
	f(17.04, "17")
	f(17.36, "17.4")
	f(512, "512")
	f(999.4, "999")
	f(999.6, "1000")
	f(1234, "1234")
	f(9999.4, "9999")
	f(9999.6, "10k")
	f(12345, "12.3k")
	f(999_499, "999k")
	f(999_600, "1M")
	f(2_345_678, "2.35M")
	f(7.1e9, "7.1G")
	f(1e12, "1T")
	f(1.5e15, "1.5P")
	f(2e18, "2E")
	f(3e21, "3000E")
	f(-1500, "−1500")
	f(-25_000, "−25k")
}

func TestRate(t *testing.T) {
	f := func(v float64, per, want string) {
		t.Helper()
		if got := unit.Rate(v, per); got != want {
			t.Errorf("Rate(%v, %q) = %q, want %q", v, per, got, want)
		}
	}
	f(2_345_678, "rows/s", "2.35M rows/s")
	f(17, "", "17/s")
}

func TestPercent(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := unit.Percent(in); got != want {
			t.Errorf("Percent(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0 %")
	f(0.0004, "<0.1 %")
	f(0.0042, "0.4 %")
	f(0.05, "5 %")
	f(0.0996, "10 %")
	f(0.923, "92 %")
	f(0.996, "99.6 %")
	f(0.99949, "99.9 %")
	f(0.9999, ">99.9 %")
	f(0.99999999, ">99.9 %")
	f(1, "100 %")
	f(1.5, "150 %")
	f(-0.12, "−12 %")
}

func TestRatio(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := unit.Ratio(in); got != want {
			t.Errorf("Ratio(%v) = %q, want %q", in, got, want)
		}
	}
	f(237.4, "×237")
	f(1.04, "×1.04")
	f(1, "×1.00")
	f(0.93, "×0.93")
	f(0.0042, "×0.0042")
	f(9.996, "×10.0")
	f(12.34, "×12.3")
	f(99.96, "×100")
	f(9999.4, "×9999")
	f(12_345, "×12.3k")
	f(0, "×0")
}
