package workload

import (
	"math"
	"testing"
)

func TestDatumInt(t *testing.T) {
	f := func(d Datum, want int64, ok bool) {
		t.Helper()
		if got, err := d.Int(); got != want || (err == nil) != ok {
			t.Errorf("%v: %d, %v; want %d", d, got, err, want)
		}
	}
	f(Int(-7), -7, true)
	f(Uint(7), 7, true)
	f(Uint(math.MaxUint64), 0, false)
	f(Float(3), 3, true)
	f(Float(3.5), 0, false)
	f(Float(math.NaN()), 0, false)
	f(String("-42"), -42, true)
	f(String("999999999999999999"), 999999999999999999, true)
	f(String("9999999999999999999"), 0, false)
	f(String(""), 0, false)
	f(String("-"), 0, false)
	f(String("4.0"), 0, false)
	f(Datum{}, 0, false)
}

func TestDatumString(t *testing.T) {
	f := func(d Datum, want string) {
		t.Helper()
		if got := d.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(Datum{}, "NULL")
	f(Int(-1), "-1")
	f(Uint(math.MaxUint64), "18446744073709551615")
	f(Float(0.5), "0.5")
	f(String("a'b"), "a'b")
}
