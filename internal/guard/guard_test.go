package guard

import (
	"errors"
	"strings"
	"testing"
)

func TestShaped(t *testing.T) {
	row := []string{"one"}
	second := 1
	for what, f := range map[string]func() error{
		"a column that is not there": func() error { _ = row[second]; return nil },
		"a part that is not there":   func() error { _ = row[0][:second*9]; return nil },
	} {
		if err := Shaped(f); err == nil || !strings.Contains(err.Error(), "a shape other") {
			t.Errorf("%s: %v", what, err)
		}
	}
	mine := errors.New("mine")
	if err := Shaped(func() error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
	defer func() {
		if p := recover(); p != "a mistake" {
			t.Errorf("another panic became %v", p)
		}
	}()
	_ = Shaped(func() error { panic("a mistake") })
}

func TestRun(t *testing.T) {
	if err := Run(func() error { panic("a mistake") }); err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Error(err)
	}
	mine := errors.New("mine")
	if err := Run(func() error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
}
