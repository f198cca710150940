package remotewrite

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := func(text string, want time.Duration) {
		t.Helper()
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	f("", 0)
	f("soon", 0)
	f("-3", 0)
	f("7", 7*time.Second)
	f("99999", 5*time.Minute)
	f("Fri, 02 Jan 2026 03:04:35 GMT", 30*time.Second)
	f("Fri, 02 Jan 2026 03:04:00 GMT", 0)
}

func TestStale(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := stale(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f("out of order sample", true)
	f("duplicate sample for timestamp", true)
	f("user=1: err: out-of-order sample (err-mimir-sample-out-of-order)", true)
	f("out of bounds", false) // it has not got them
	f("label name is invalid", false)
}

func TestPlain(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := plain([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	f(" a\n\tb\x00\xff ", "a b ?")
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	if got := plain(long); len(got) != 303 {
		t.Errorf("%d", len(got))
	}
}
