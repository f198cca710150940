package sqltext

import "testing"

func TestOwn(t *testing.T) {
	if got := Tagged("scrape", "a-1", "SELECT 1"); got != "/* dyno:scrape a-1 */ SELECT 1" {
		t.Fatalf("got %q", got)
	}
	if got := Tagged("x */ DROP", "", "SELECT 1"); got != "/* dyno:x__/_DROP */ SELECT 1" {
		t.Fatalf("the tag can be left: %q", got)
	}
	f := func(sql string, want bool) {
		t.Helper()
		if Own(sql) != want || Own([]byte(sql)) != want {
			t.Fatalf("%q: got %v", sql, !want)
		}
	}
	f(Tagged("scrape", "", "SELECT 1"), true)
	f("  \n"+Tagged("load", "r-1", "SELECT 1"), true)
	f("SELECT '/* dyno:'", false)
	f("/* other */ SELECT 1", false)
	f("", false)
}
