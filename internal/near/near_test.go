package near

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Name(name, []string{"tps", "threads", "settings", "set", "server"}, len(name)/2+1); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
	f("tsp", "tps")
	f("setings", "settings")
	f("Setting", "settings")
	f("sever", "server")
	f("xyz", "")
	f("", "")
	f(strings.Repeat("threads", 20), "")
	d := func(a, b string, want int) {
		t.Helper()
		if got := distance(a, b); got != want || distance(b, a) != want {
			t.Errorf("distance(%q, %q) = %d and %d, want %d", a, b, got, distance(b, a), want)
		}
	}
	d("", "", 0)
	d("", "abc", 3)
	d("same", "same", 0)
	d("abc", "acb", 1)
	d("kitten", "sitting", 3)
	d("ab", "ba", 1)
	d("abcd", "badc", 2)
}
