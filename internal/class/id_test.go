package class

import "testing"

func TestMatchID(t *testing.T) {
	const full = "FF91DB9698814E5155761EAA5F9A4E3A"
	f := func(given string, want bool) {
		t.Helper()
		if got := MatchID(full, given); got != want {
			t.Errorf("%q: got %v", given, got)
		}
	}
	f(full, true)
	f("0x"+full, true)
	f("ff91db9698814e5155761eaa5f9a4e3a", true)
	f(" 0xff91db9698814e5155761eaa5f9a4e3a\n", true)
	f("55761EAA5F9A4E3A", true)
	f("0x55761eaa5f9a4e3a", true)
	f("FF91DB9698814E51", false) // the first half is nobody's id
	f("5F9A4E3A", false)
	f("", false)
	f("0x", false)
	f("select ?", false)
	f("ZF91DB9698814E5155761EAA5F9A4E3A", false)
}

func TestSameID(t *testing.T) {
	if id, ok := SameID("0x55761eaa5f9a4e3a"); id != "55761EAA5F9A4E3A" || !ok {
		t.Errorf("got %q, %v", id, ok)
	}
	if _, ok := SameID("55761EAA5F9A4E3G"); ok {
		t.Error("G is a digit")
	}
}

func TestShortID(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := ShortID(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	f("B26451ADEE9D5F9C89311C08FB015D33", "89311C08FB015D33")
	f("short", "short")
	f("", "")
}
