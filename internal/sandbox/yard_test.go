package sandbox

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	f := func(name string, ok bool) {
		t.Helper()
		if err := CheckName(name); (err == nil) != ok || err != nil && !errors.Is(err, ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	f("a", true)
	f("demo-1.b_2", true)
	f("9lives", true)
	f(strings.Repeat("x", 40), true)
	f(strings.Repeat("x", 41), false)
	f("", false)
	f(".", false)
	f("..", false)
	f(".hidden", false)
	f("-f", false)
	f("a/b", false)
	f("a b", false)
	f("a\n", false)
	f("é", false)
	f("a\x00", false)
}

func TestOpen(t *testing.T) {
	if _, err := Open("", makers...); err == nil {
		t.Error("a yard nowhere")
	}
	if _, err := Open("a\nb", makers...); err == nil {
		t.Error("a yard with a line break")
	}
	y, err := Open("relative", makers...)
	if err != nil || !filepath.IsAbs(y.Home) {
		t.Fatal(y, err)
	}
	if exists(y.Home) {
		t.Error("Open makes the directory")
	}
}
