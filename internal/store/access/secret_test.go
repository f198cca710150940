package access

import (
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		s := newSecret()
		if !wellFormed(s) || seen[s] || seen[csrfOf(s)] || strings.Contains(csrfOf(s), s) {
			t.Fatal(s)
		}
		seen[s], seen[csrfOf(s)] = true, true
	}
	f := func(s string) {
		t.Helper()
		if wellFormed(s) {
			t.Errorf("%q is taken for a secret", s)
		}
	}
	f("")
	f(newSecret() + "a")
	f(newSecret()[1:])
	f(strings.Repeat("é", 22)[:43])
	f(strings.Repeat("=", 43))
	f(strings.Repeat("\x00", 43))
	f(strings.Repeat("A", 42) + "B") // two bits more than 32 bytes have: another spelling of one secret
}

func TestClip(t *testing.T) {
	f := func(in string, n int, want string) {
		t.Helper()
		if got := clip(in, n); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("plain <b>", 20, "plain <b>")
	f("two\nlines\x00", 20, "two\uFFFDlines\uFFFD")
	f("right\u202eleft", 20, "right\uFFFDleft")
	f("größe", 3, "gr")
	f("\xff", 5, "\uFFFD")
}
