package mytext

import "testing"

func TestSetGlobal(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		if got := SetGlobal("x", value); got != "SET GLOBAL x = "+want {
			t.Errorf("%q: %s", value, got)
		}
	}
	f("1", "1")
	f("-1", "-1")
	f("3.5", "3.5")
	f("18446744073709551615", "18446744073709551615")
	f("ON", "'ON'")
	f("", "''")
	f("0x10", "'0x10'")
	f("1e3", "'1e3'")
	f("1; DROP TABLE t", "'1; DROP TABLE t'")
	f(`it's a \`, `'it''s a \\'`)
	f("a\x00b", `'a\0b'`)
}
