package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestBootstraps(t *testing.T) {
	f := func(flavor, version string, want bool, table string) {
		t.Helper()
		s := maker.Server{Flavor: dbms.Flavor(flavor), Version: version}
		if bootstraps(s) != want {
			t.Errorf("%s %s: not %v", flavor, version, want)
		}
		if want && !strings.Contains(onlyRoot(s), "delete from "+table+" where") {
			t.Errorf("%s %s: %s", flavor, version, onlyRoot(s))
		}
	}
	f("mysql", "5.5.34", true, "user")
	f("mysql", "5.6.14", true, "user")
	f("mysql", "5.7.0", false, "")
	f("mysql", "8.0.33", false, "")
	f("percona", "5.6.51", true, "user")
	f("mariadb", "10.1.23", true, "user")
	f("mariadb", "10.3.39", true, "user")
	f("mariadb", "10.4.1", true, "global_priv")
	f("mariadb", "11.8.6", true, "global_priv")
}

func TestBootstrapSQL(t *testing.T) {
	root := t.TempDir()
	s := maker.Server{Flavor: "mysql", Version: "5.6.14", Path: filepath.Join(root, "bin/mysqld")}
	share := filepath.Join(root, "share")
	if err := os.MkdirAll(filepath.Join(share, "charsets"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(share, name), []byte("-- "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("mysql_system_tables.sql")
	if _, err := bootstrapSQL(s); err == nil || endpoint.HintOf(err) == "" {
		t.Errorf("without the data of its tables: %v", err)
	}
	write("fill_help_tables.sql")
	write("mysql_system_tables_data.sql")
	r, err := bootstrapSQL(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, part := range []string{
		"create database mysql", "-- mysql_system_tables.sql\n",
		"-- mysql_system_tables_data.sql\n", "-- fill_help_tables.sql\n", "delete from user",
	} {
		i := strings.Index(string(b), part)
		if i <= at {
			t.Errorf("%q is at %d", part, i)
		}
		at = i
	}
}
