package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// TestPasswordFile: what is written for a PostgreSQL is what its login reads, and nothing for another server.
func TestPasswordFile(t *testing.T) {
	const password = `a:b\c # "d`
	f := func(writtenFor, url, want string) {
		t.Helper()
		spec, err := endpoint.ParseURL(writtenFor)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(Family{}.PasswordFile(spec, password)), 0o600); err != nil {
			t.Fatal(err)
		}
		if spec, err = endpoint.ParseURL(url); err != nil {
			t.Fatal(err)
		}
		spec, err = conn.Resolve(spec, func(name string) string {
			if name == "PGPASSFILE" {
				return file
			}
			return ""
		})
		if err != nil || spec.Password.Reveal() != want {
			t.Errorf("%s, for %s: %q, %v", url, writtenFor, spec.Password.Reveal(), err)
		}
	}
	f("postgres://dyno@db1/shop", "postgres://dyno@db1/shop", password)
	f("postgres://dyno@db1", "postgres://dyno@db1:5432/other", password)
	f("postgres://dyno@[::1]:5433/shop", "postgres://dyno@[::1]:5433/shop", password)
	f("postgres://dyno@/shop?host=/run/postgresql", "postgres://dyno@/shop?host=/run/postgresql", password)
	f("postgres://dyno@db1/shop", "postgres://dyno@db2/shop", "")
	f("postgres://dyno@db1/shop", "postgres://dyno@db1:5433/shop", "")
	f("postgres://dyno@db1/shop", "postgres://other@db1/shop", "")
}
