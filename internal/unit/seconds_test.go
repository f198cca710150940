package unit_test

import (
	"testing"
	"time"

	"dyno/internal/unit"
)

func TestSeconds(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := unit.Seconds(in); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0 s")
	f(1e-9, "1 ns")
	f(0.0000123, "12.3 µs")
	f(0.000999, "999 µs")
	f(0.0009996, "1 ms")
	f(0.604, "604 ms")
	f(0.9996, "1 s")
	f(1.5, "1.5 s")
	f(59.94, "59.9 s")
	f(59.96, "1 min")
	f(75, "1 min 15 s")
	f(119.6, "2 min")
	f(3599.7, "1 h")
	f(7500, "2 h 5 min")
	f(86_399, "1 d")
	f(3*86_400+4*3600, "3 d 4 h")
	f(-0.5, "−500 ms")
	f(1e-13, "0 s")
}

func TestDuration(t *testing.T) {
	if got := unit.Duration(1500 * time.Microsecond); got != "1.5 ms" {
		t.Error(got)
	}
}
