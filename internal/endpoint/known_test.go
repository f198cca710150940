package endpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestKnownServersFile: several writers lose nothing, and comments stay.
func TestKnownServersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known_servers")
	const hand = "# by hand\n\nb SHA256 BB"
	if err := os.WriteFile(path, []byte(hand), 0o600); err != nil {
		t.Fatal(err)
	}
	becomes := func(print ...string) func([]Mark) []Mark {
		return func([]Mark) (all []Mark) {
			for _, p := range print {
				all = append(all, Mark{ByCertificate, p, p == "y"})
			}
			return all
		}
	}
	var wg sync.WaitGroup
	for n := range 20 {
		k := OpenKnown(path) // as other processes would
		wg.Go(func() {
			for _, p := range []string{"x", "y"} {
				if err := k.Update(fmt.Sprintf("h%d:1", n), becomes(p, "z")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	k := OpenKnown(path)
	for n := range 20 {
		if got, err := k.Of(fmt.Sprintf("h%d:1", n)); err != nil ||
			!slices.Equal(got, []Mark{{ByCertificate, "y", true}, {ByCertificate, "z", false}}) {
			t.Errorf("h%d: %v %v", n, got, err)
		}
	}
	if err := k.Update("b", becomes()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); !strings.HasPrefix(text, strings.TrimSuffix(hand, "b SHA256 BB")) ||
		strings.Contains(text, "BB") || strings.Count(text, "\n") != 42 {
		t.Errorf("%s", text)
	}
	for _, none := range []*KnownServers{nil, OpenKnown(filepath.Join(t.TempDir(), "none", "there"))} {
		if got, err := none.Of("h1:1"); got != nil || err != nil {
			t.Error(got, err)
		}
	}
	f := func(url, want string) {
		t.Helper()
		if s, err := ParseURL(url); err != nil || s.Place() != want {
			t.Errorf("%s: %q, %v", url, s.Place(), err)
		}
	}
	f("mysql://DB.example/", "db.example:3306")
	f("mysql://[::1]:1/", "[::1]:1")
	f("mysql://db:1/?ssh=ssh://me@jump:22", "db:1@ssh://me@jump:22")
}

// TestKnownServersHasABound: it is never more than can be read, what it holds stays good, and there is room again when
// lines go.
func TestKnownServersHasABound(t *testing.T) {
	f := func(what, line string, lines int) {
		t.Helper()
		k := OpenKnown(filepath.Join(t.TempDir(), "known_servers"))
		if err := os.WriteFile(k.path, []byte(strings.Repeat(line, lines)+Mark{
			By:    ByCertificate,
			Value: "AA",
		}.line("db:3306")), 0o600); err != nil {
			t.Fatal(err)
		}
		put := func(place string, with ...Mark) error {
			return k.Update(place, func([]Mark) []Mark { return with })
		}
		if err := put("new:3306", Mark{By: ByCertificate, Value: "BB"}); err == nil ||
			!strings.Contains(err.Error(), "is full") {
			t.Errorf("%s: %v", what, err)
		}
		if all, err := k.Of("db:3306"); err != nil || len(all) != 1 {
			t.Errorf("%s: %v %v", what, all, err)
		}
		if err := errors.Join(put("db:3306"), put("new:3306", Mark{By: ByCertificate, Value: "BB"})); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("lines", "x SHA256 y\n", maxKnown-1)
	f("bytes", "# "+strings.Repeat("x", MaxFile/2-13)+"\n", 2)
}
