package workload

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, w := range All() {
		if got, err := Find(All(), w.Name()); err != nil || got != w {
			t.Errorf("find %s: %v", w.Name(), err)
		}
		if w.Title() == "" || len(w.Options()) == 0 {
			t.Errorf("%s lacks a title or options", w.Name())
		}
	}
	f := func(name, suggestion string) {
		t.Helper()
		_, err := Find(All(), name)
		if err == nil || strings.Contains(err.Error(), "did you mean") != (suggestion != "") ||
			!strings.Contains(err.Error(), suggestion) {
			t.Errorf("find %q: %v; want %q", name, err, suggestion)
		}
	}
	f("oltp_readwrite", "oltp_read_write")
	f("oltp-point-select", "oltp_point_select")
	f("zzz", "")
	f("", "")
}
