package ddl

import "testing"

func TestSystem(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if System(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
	f("mysql", true)
	f("INFORMATION_SCHEMA", true)
	f("Performance_Schema", true)
	f("sys", true)
	f("mysql2", false)
	f("", false)
}
