package pace

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		s, err := Parse(in)
		if err != nil || s.String() != want {
			t.Errorf("%q: got %v, %v; want %s", in, s, err, want)
			return
		}
		if again, err := Parse(s.String()); err != nil || again.String() != want {
			t.Errorf("%q does not come back: %v, %v", want, again, err)
		}
	}
	f("", "0")
	f("0", "0")
	f(" 500 ", "500")
	f("0.5", "0.5")
	f("2K", "2000")
	f("1.5m", "1500000")
	f("100..2000@60s", "100..2000@1m0s")
	f("100..2000@60", "100..2000@1m0s")
	f("500@30s, 1000@1m30s", "500@30s,1000@1m30s")
	f("0@5s,100", "0@5s,100")
	f("500,+2000@10s/1s", "500,+2000@10s/1s")
	f("+2000@10s/500ms", "0,+2000@10s/500ms")
}

func TestParseErrorsSayWhere(t *testing.T) {
	f := func(in string, column int, want string) {
		t.Helper()
		_, err := Parse(in)
		var e *Error
		if !errors.As(err, &e) || e.Column != column || !strings.Contains(e.Reason, want) {
			t.Errorf("%q: got %v, want column %d and %q", in, err, column, want)
		}
	}
	f("abc", 1, "500, 0.5 or 2K")
	f("-5", 1, "arrivals per second")
	f("0x10", 1, "arrivals per second")
	f("Inf", 1, "arrivals per second")
	f("1e3", 1, "arrivals per second")
	f("2G", 1, "arrivals per second")
	f("200M", 1, "at most 100000000")
	f("500,", 5, "a part is missing")
	f("500@30s,,10", 9, "a part is missing")
	f("500,1000@30s", 1, "only the last part")
	f("500@1s,600, 700", 8, "only the last part")
	f("100..2000", 1, "within what time")
	f("100..@60s", 6, "a rate is missing")
	f("..100@60s", 1, "a rate is missing")
	f("500@", 5, "takes a time")
	f("500@0s", 5, "more than 0")
	f("500@-3s", 5, "more than 0")
	f("500@1s,10..x@3s", 12, "arrivals per second")
	f("500,+2000", 5, "+N@EVERY/LONG")
	f("500,+2000@10s", 5, "+N@EVERY/LONG")
	f("500,+x@10s/1s", 6, "arrivals per second")
	f("500,+2000@y/1s", 11, "takes a time")
	f("500,+2000@10s/z", 15, "takes a time")
	f("500,+2000@1s/1s", 11, "shorter than")
	f("0@5s", 1, "no arrival ever")
	f("0,+0@5s/1s", 1, "no arrival ever")
	f("500@99999h", 5, "at most")
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"500", "100..2000@60s", "500@30s,1000@30s", "500,+2000@10s/1s", "+1@2/1,3..4@5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Parse(in)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Column < 1 || e.Column > len(in)+1 {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if again, err := Parse(s.String()); err != nil || again.String() != s.String() {
			t.Fatalf("%q: %v became %v, %v", in, s, again, err)
		}
	})
}
