package scrape

import (
	"testing"
	"time"
)

func TestMeterSharesOut(t *testing.T) {
	var cpu time.Duration
	m := &Meter{cpu: func() (time.Duration, bool) { return cpu, true }}
	f := func(what string, begin, want time.Duration) {
		t.Helper()
		if got, ok := m.end(begin); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", what, got, ok, want)
		}
	}
	cpu = 10 // before anything
	a := m.begin()
	cpu += 10 // a alone
	b := m.begin()
	cpu += 20 // both
	f("a", a, 20)
	cpu += 5 // b alone
	f("b", b, 15)
	cpu += 100 // none
	c := m.begin()
	cpu += 7
	f("c", c, 7)
	m = &Meter{cpu: func() (time.Duration, bool) { return 0, false }}
	if _, ok := m.end(m.begin()); ok {
		t.Error("it knows what cannot be measured")
	}
}
