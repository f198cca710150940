package report

import (
	"math"
	"testing"
	"time"
)

func TestDigestAmount(t *testing.T) {
	f := func(in, base float64, want string) {
		t.Helper()
		if got := digestAmount(in, base); got != want {
			t.Errorf("digestAmount(%v, %v) = %q, want %q", in, base, got, want)
		}
	}
	f(0, 1024, "0")
	f(math.Copysign(0, -1), 1024, "0")
	f(7, 1024, "7")
	f(1023, 1024, "1023")
	f(1024, 1024, "1.00k")
	f(62951, 1024, "61.48k")
	f(62.75, 1024, "62.75")
	f(1023.999, 1024, "1024.00")
	f(0.5, 1024, "0.50")
	f(3.5e9, 1024, "3.26G")
	f(1e30, 1024, "827180.61Y")
	f(2.54e6, 1000, "2.54M")
	f(999, 1000, "999")
	f(1000, 1000, "1.00k")
	f(1.85, 1000, "1.85")
	f(0.001, 1000, "0.00")
}

func TestDigestTime(t *testing.T) {
	f := func(in float64, want string) {
		t.Helper()
		if got := digestTime(in); got != want {
			t.Errorf("digestTime(%v) = %q, want %q", in, got, want)
		}
	}
	f(0, "0")
	f(-1, "0")
	f(math.NaN(), "0")
	f(0.0000009, "0")
	f(0.000001, "1us")
	f(0.000012, "12us")
	f(0.000530, "530us")
	f(0.0009999, "999us")
	f(0.001, "1ms")
	f(0.0334, "33ms")
	f(0.7262, "726ms")
	f(0.999999, "1000ms")
	f(1, "1s")
	f(1.5, "2s")
	f(2.5, "2s")
	f(86400, "86400s")
	// Any microsecond is written as it is.
	for us := 1; us < 1000; us++ {
		want := digestAmount(float64(us), 1024) + "us"
		if got := digestTime(float64(us) / 1e6); got != want {
			t.Errorf("digestTime of %d us = %q", us, got)
		}
	}
	if got := digestTimes(0.21, 1) + " " + digestTimes(1.25, 1) + " " + digestTimes(2, 1); got != "210ms 1.2s 2s" {
		t.Errorf("with one decimal: %q", got)
	}
}

func TestDigestPercent(t *testing.T) {
	f := func(part, of float64, want string) {
		t.Helper()
		if got := digestPercent(part, of); got != want {
			t.Errorf("digestPercent(%v, %v) = %q, want %q", part, of, got, want)
		}
	}
	f(0, 0, "0")
	f(1, 8, "12")
	f(7, 8, "87")
	f(8, 8, "100")
	f(999, 1000, "99")
	f(math.Inf(1), math.Inf(1), "-")
}

func TestDigestRange(t *testing.T) {
	at := func(s string) time.Time {
		x, err := time.Parse("2006-01-02 15:04:05.999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	f := func(from, to time.Time, want string) {
		t.Helper()
		if got := digestRange(from, to); got != want {
			t.Errorf("digestRange(%v, %v) = %q, want %q", from, to, got, want)
		}
	}
	a := at("2007-12-18 11:48:27")
	f(a, a, "all events occurred at 2007-12-18 11:48:27")
	f(a, at("2007-12-18 11:48:28.25"), "2007-12-18 11:48:27 to 11:48:28")
	f(a, at("2007-12-19 00:00:00"), "2007-12-18 11:48:27 to 2007-12-19 00:00:00")
	f(time.Time{}, a, "")
	f(a, time.Time{}, "")
	f(a.In(time.FixedZone("", 3600)), a, "all events occurred at 2007-12-18 11:48:27")
}
