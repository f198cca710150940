package postgres

import (
	"os"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// TestResolveForStrangers: what the environment and home of Dyno's owner hold is not for a server that a request names,
// which is resolved with no file.
func TestResolveForStrangers(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(home+"/.pgpass", []byte("*:*:*:*:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"HOME": home, "PGSSLCERT": "/mine.crt", "PGSSLKEY": "/mine.key", "PGSSLROOTCERT": "/mine.ca",
	}
	f := func(file string, owner bool) {
		t.Helper()
		s, err := endpoint.ParseURL("postgres://postgres@db1:5432/")
		if err != nil {
			t.Fatal(err)
		}
		if s, err = (Family{}).Resolve(s, file, func(name string) string { return env[name] }); err != nil {
			t.Fatal(err)
		}
		if (s.Cert != "") != owner || (s.Key != "") != owner || (s.CA != "") != owner || s.Password.Empty() == owner {
			t.Errorf("%q: %+v", file, s)
		}
	}
	f("", true)
	f(os.DevNull, false)
}
