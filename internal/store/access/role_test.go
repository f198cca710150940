package access

import (
	"errors"
	"strings"
	"testing"
)

func TestRoles(t *testing.T) {
	f := func(r, need Role, want bool) {
		t.Helper()
		if r.May(need) != want {
			t.Errorf("%q may %q: %v", r, need, !want)
		}
	}
	f(Operator, Operator, true)
	f(Operator, Viewer, true)
	f(Viewer, Viewer, true)
	f(Viewer, Operator, false)
	f("", Viewer, false)
	f("", "", false)
	f("root", Viewer, false)
	f(Viewer, "", false)
}

func TestNames(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if err := CheckName(name); (err == nil) != want || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	f("anna", true)
	f("anna.b-c_d@example.org", true)
	f("7up", true)
	f(strings.Repeat("a", 64), true)
	f(strings.Repeat("a", 65), false)
	f("", false)
	f("Anna", false)
	f("änna", false)
	f("аnna", false) // the first letter is Cyrillic
	f("anna ", false)
	f("an na", false)
	f("anna\n", false)
	f("anna\x00", false)
	f("<b>", false)
	f("../anna", false)
	f("-anna", false)
	f("local", false)
	f("cli", false)
}
