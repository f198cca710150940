package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestMay(t *testing.T) {
	f := func(version string, onward bool, asked string, want bool) {
		t.Helper()
		if got := (offer{Offer: Offer{Version: version}, onward: onward}).may(asked); got != want {
			t.Errorf("%s (onward %v) for %q: %v", version, onward, asked, got)
		}
	}
	f("8.0.33", false, "", true)
	f("8.0.33", false, "8", true)
	f("8.0.33", false, "8.0.33", true)
	f("8.0.33", false, "8.0.34", false)
	f("8.0.33", false, "8.4", false)
	f("10.11", false, "10.11.19", true) // the source is asked which one it has
	f("10.11", false, "10.1", false)
	f("9.7", true, "9.7", true)
	f("9.7", true, "9", true)
	f("9.7", true, "10", true)
	f("9.7", true, "8", false)
	f("9.7", true, "9.6", false)
}

// What Install takes for a spec on a Debian: the first offer that may have it.
func TestOffers(t *testing.T) {
	if _, ok := thisDebian(); !ok {
		t.Skip("not Debian")
	}
	y := &Builds{kinds: makers, servers: t.TempDir()}
	f := func(spec, want, from string) {
		t.Helper()
		o, ok := y.Missing(t.Context(), spec)
		if !ok || o.Spec() != want || !strings.Contains(o.From, from) || o.Download < 1e6 ||
			o.Unpacked < o.Download/3 || o.Licence == "" {
			t.Errorf("%s: %+v %v", spec, o, ok)
		}
	}
	f("mysql", "mysql@9.7", "sid")
	f("mysql@9", "mysql@9.7", "sid")
	f("mysql@8", "mysql@8.0.33", "Maven")
	f("mysql@8.0", "mysql@8.0.33", "Maven")
	f("mysql@5", "mysql@5.6.14", "Maven")
	f("mysql@5.5", "mysql@5.5.34", "Maven")
	f("mariadb@11.8", "mariadb@11.8", "trixie")
	f("mariadb@11.4", "mariadb@11.4.5", "Maven")
	f("mariadb@10.11", "mariadb@10.11", "bookworm")
	f("mariadb@10.2", "mariadb@10.2.11", "Maven")
	f("mariadb@10.1.23", "mariadb@10.1.23", "Maven")
	f("postgres", "postgres@18", "npm")
	f("postgresql@17.10", "postgres@17", "npm")
	f("postgres@15", "postgres@15", "npm")
	for _, spec := range []string{"percona", "mysql@8.4", "oracle", "postgres@14"} {
		if o, ok := y.Missing(t.Context(), spec); ok {
			t.Errorf("%s: %+v", spec, o)
		}
	}
}

func TestNone(t *testing.T) {
	offers := []Offer{
		{Flavor: "mariadb", Version: "11.8", From: "Debian trixie"},
		{Flavor: "mysql", Version: "9.7", From: "Debian sid"},
		{Flavor: "mysql", Version: "8.0.33", From: "Maven Central"},
		{Flavor: "mysql", Version: "5.6.14", From: "Maven Central"},
		{Flavor: "mysql", Version: "5.5.34", From: "Maven Central"},
	}
	f := func(version, nearest string) {
		t.Helper()
		err := none(offers, "mysql", version, []string{"9.9.1 (Debian sid)"})
		h := hinted{}
		if !errors.Is(err, ErrNoServer) || !errors.As(err, &h) {
			t.Fatal(err)
		}
		if !strings.Contains(err.Error(), "9.7 (Debian sid), 8.0.33 (Maven Central), 5.6.14") ||
			!strings.Contains(err.Error(), "9.9.1") || strings.Contains(err.Error(), "11.8") {
			t.Error(err)
		}
		if !strings.Contains(h.Hint(), "install mysql@"+nearest+"`") {
			t.Errorf("%s: %s", version, h.Hint())
		}
	}
	f("8.4", "8.0.33")
	f("8.0.36", "8.0.33")
	f("5.7", "5.6.14")
	f("5.1", "5.5.34")
	f("4", "5.6.14") // the newest of the nearest
	f("7", "8.0.33")
	f("12", "9.7")
	if err := none(offers, "percona", "", nil); !errors.Is(err, ErrNoServer) ||
		!strings.Contains(err.Error(), "percona") {
		t.Error(err)
	}
}
