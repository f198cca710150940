package unit_test

import (
	"math"
	"strings"
	"testing"

	"dyno/internal/unit"
)

func TestBytes(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := unit.Bytes(in); got != want {
			t.Errorf("Bytes(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0 B")
	f(512, "512 B")
	f(1000, "1000 B")
	f(1023.6, "1 KiB")
	f(1024, "1 KiB")
	f(1.5*(1<<30), "1.5 GiB")
	f(999.96*1024, "1000 KiB")
	f(16384, "16 KiB")
	f(-2048, "−2 KiB")
}

func TestParseSize(t *testing.T) {
	f := func(in string, want uint64) {
		t.Helper()
		if got, err := unit.ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	f("0", 0)
	f("64M", 64<<20)
	f("64m", 64<<20)
	f("1G", 1<<30)
	f("10k", 10240)
	f("1.5G", 3<<29)
	f("1.50G", 3<<29)
	f("128 MiB", 128<<20)
	f("128MB", 128<<20)
	f("4096B", 4096)
	f(" 7 ", 7)
	f("15E", 15<<60)
	f("18446744073709551615", math.MaxUint64)

	bad := func(in, say string) {
		t.Helper()
		got, err := unit.ParseSize(in)
		switch {
		case err == nil:
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		case !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), "64M"):
			t.Errorf("ParseSize(%q): %v: does not say %q and what is accepted", in, err, say)
		}
	}
	bad("", "no number")
	bad("M", "no number")
	bad("-1", "not a number")
	bad("+1", "not a number")
	bad("1e9", "not a number")
	bad("1 2", "not a number")
	bad("1..5M", "not a number")
	bad(".5M", "not a number")
	bad("5.M", "not a number")
	bad("1X", "unknown unit")
	bad("1KX", "unknown unit")
	bad("1iB", "unknown unit")
	bad("1.5", "not a whole number")
	bad("0.0001K", "not a whole number")
	bad("16E", "too large")
	bad("18446744073709551616", "too large")
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"64M", "1.5G", "", "9e9", "16E", "1.0000000000000000001K"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := unit.ParseSize(s); err != nil && n != 0 {
			t.Errorf("ParseSize(%q) = %d with error %v", s, n, err)
		}
	})
}
