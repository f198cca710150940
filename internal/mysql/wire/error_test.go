package wire

import (
	"errors"
	"testing"
)

func TestParseError(t *testing.T) {
	f := func(p string, want Error) {
		t.Helper()
		var e *Error
		if err := parseError([]byte(p)); !errors.As(err, &e) || *e != want {
			t.Errorf("%q: %v", p, err)
		}
	}
	f("\xff\x28\x04#42000You have an error", Error{1064, "42000", "You have an error"})
	f("\xff\x10\x04Too many connections", Error{1040, "", "Too many connections"})
	f("\xff\x10\x04", Error{1040, "", ""})
	f("\xff\x10\x04#HY00", Error{1040, "", "#HY00"})
	f("\xff\x10\x04#HY000", Error{1040, "HY000", ""})
	for _, p := range []string{"", "\xff", "\xff\x10", "\x00\x10\x04"} {
		if err := parseError([]byte(p)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", p, err)
		}
	}
	if got := (&Error{1064, "42000", "no"}).Error(); got != "Error 1064 (42000): no" {
		t.Error(got)
	}
}
