package reserve

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

func TestReserve(t *testing.T) {
	f := func(s string, total, want int64) {
		t.Helper()
		r, err := Parse(s)
		if (err != nil) != (want < 0) {
			t.Errorf("%s: %v", s, err)
		} else if got := r.Of(total); err == nil && got != want {
			t.Errorf("%s of %d is %d, want %d", s, total, got, want)
		}
	}
	f("3G", 100<<30, 3<<30)
	f("10%", 1000, 100)
	f("0", 100<<30, 1)
	f("0%", 100<<30, 1)
	f("", 0, -1)
	f("95%", 0, -1)
	f("-1%", 0, -1)
	f("x%", 0, -1)
	f("x", 0, -1)
	if got := (Reserve{}).Of(100 << 30); got != 5<<30 {
		t.Errorf("of 100 GiB: %d", got)
	}
	if got := (Reserve{}).Of(20 << 30); got != 2<<30 {
		t.Errorf("of 20 GiB: %d", got)
	}
	if got := (Reserve{}).Of(1 << 30); got != (1<<30)/5 {
		t.Errorf("of 1 GiB: %d", got)
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := (Reserve{Bytes: 1}).Check(dir, 0); err != nil {
		t.Error(err)
	}
	if err := (Reserve{Bytes: 1}).Check(dir+"/nowhere", 0); err != nil {
		t.Error(err)
	}
	for _, err := range []error{(Reserve{Bytes: 1 << 60}).Check(dir, 0), (Reserve{Bytes: 1}).Check(dir, 1<<60)} {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--reserve=") {
			t.Error(err)
		}
	}
}
