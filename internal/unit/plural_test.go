package unit

import "testing"

func TestPlural(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		if got := Plural(n, "index", "indexes"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	f(0, "0 indexes")
	f(1, "1 index")
	f(2, "2 indexes")
	f(-1, "-1 indexes")
}
