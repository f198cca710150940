package digestsource

import (
	"database/sql/driver"
	"testing"
)

func TestWhole(t *testing.T) {
	f := func(v driver.Value, want uint64) {
		t.Helper()
		if got := whole(v); got != want {
			t.Errorf("%v: got %d, want %d", v, got, want)
		}
	}
	f(nil, 0)
	f([]byte(""), 0)
	f([]byte("0"), 0)
	f([]byte("123456789"), 123456789)
	f([]byte("9999999999999999999"), 9999999999999999999)
	f([]byte("18446744073709551615"), 1<<64-1)
	f([]byte("12.75"), 12)
	f([]byte("1e3"), 1000)
	f([]byte("-5"), 0)
	f([]byte("none"), 0)
	f(int64(-1), 0)
	f(uint64(7), 7)
	f(2.5, 2)
	f("7", 0)
}
