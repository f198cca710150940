package shape

import "testing"

func TestMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if Match(pattern, name) != want {
			t.Errorf("%s, %s: got %v", pattern, name, !want)
		}
	}
	f("t", "T", true)
	f("t", "t1", false)
	f("sbtest?", "sbtest12", true)
	f("sbtest?", "sbtest", false)
	f("sbtest?", "sbtests1", false)
	f("ta?", "tab1", true)
	f("t?_x", "t1_x", true)
	f("t?_x", "t1_y", false)
	f("orders_?_?", "orders_2020_12", true)
}
