//go:build install

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/progress"
)

// The real thing, some 1.3 GB: every build that Install offers is fetched, starts, answers, stops and goes.
// DYNO_TEST_YARD names a yard to keep the builds in; without it they go with the test.
func TestInstallEvery(t *testing.T) {
	for _, spec := range []string{
		"mariadb@10.1", "mariadb@10.2", "mariadb@10.11", "mariadb@11.4", "mariadb@11.8", "mysql@5.5", "mysql@5.6",
		"mysql@8.0", "mysql@9",
	} {
		t.Run(spec, func(t *testing.T) { installed(t, spec) })
	}
}

// TestInstallPostgres is the same for PostgreSQL, 94 MB.
func TestInstallPostgres(t *testing.T) {
	y := yard(t)
	y.ServerDirs = nil
	for _, major := range []string{"18", "17", "16", "15"} {
		s, err := y.Install(t.Context(), "postgres@"+major, nil)
		if err != nil || !matches(s.Version, major) || s.Origin != Installed {
			t.Errorf("%s: %+v %v", major, s, err)
			continue
		}
		box := up(t, y, Config{Name: "a", Server: s.Path})
		if got := ask1(t, psql(t, box), "SELECT count(*) >= 0 FROM pg_stat_statements"); got != "t" {
			t.Errorf("%s: %s", major, got)
		}
		if err := y.Remove(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
}

func installed(t *testing.T, spec string) {
	ctx := context.Background()
	y := yard(t)
	y.ServerDirs = nil
	keep := os.Getenv("DYNO_TEST_YARD")
	shop := y
	if keep != "" {
		var err error
		if shop, err = Open(keep, makers...); err != nil {
			t.Fatal(err)
		}
	}
	last := ""
	s, err := shop.Install(ctx, spec, func(p progress.Progress) {
		if p.Step != last {
			last = p.Step
			t.Logf("%s: %.0f MB", p.Step, p.Total/1e6)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	flavor, version, _ := parseSpec(spec)
	if s.Flavor != flavor || !matches(s.Version, version) || s.Origin != Installed {
		t.Fatalf("%+v", s)
	}
	if again, err := shop.Resolve(ctx, spec); err != nil || again != s {
		t.Errorf("resolves as %+v %v", again, err)
	}
	var size int64
	err = filepath.WalkDir(filepath.Join(shop.servers, string(flavor)+"-"+s.Version),
		func(_ string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if fi, err := d.Info(); err == nil {
					size += fi.Size()
				}
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s takes %d bytes", s.Spec(), size)
	for range 2 { // with a new template, then with the kept one
		box := up(t, y, Config{Name: "a", Server: s.Path, Settings: map[string]string{"innodb_log_file_size": "16M"}})
		if len(box.Notes) > 0 {
			t.Errorf("its settings are not as asked for: %q", box.Notes)
		}
		db := open(t, box)
		if got := value(t, db, "SELECT VERSION()"); !strings.HasPrefix(got, s.Version) {
			t.Errorf("version %s", got)
		}
		if got := value(t, db,
			"SELECT GROUP_CONCAT(CONCAT(User,'@',Host)) FROM mysql.user WHERE User NOT LIKE 'm%.%'"); got !=
			"root@localhost" {
			t.Errorf("accounts %s", got)
		}
		for _, q := range []string{
			"CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB",
			"INSERT INTO d.t VALUES (1), (2)",
			"CREATE USER 'u'@'%' IDENTIFIED BY 'secret-1A'", "GRANT ALL ON d.* TO 'u'@'%'", "DROP USER 'u'@'%'",
		} {
			if _, err := db.Exec(q); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
		client := s.Client()
		words := append(client[1:len(client):len(client)], "--no-defaults", "--user=root", "--socket="+box.Socket,
			"-BNe", "SELECT COUNT(*) FROM d.t")
		if out, err := exec.Command(client[0], words...).CombinedOutput(); err != nil ||
			strings.TrimSpace(string(out)) != "2" {
			t.Errorf("client %q: %v %s", client, err, out)
		}
		if s.makesKeys() {
			var name, tls string
			if err := db.QueryRow("SHOW GLOBAL VARIABLES LIKE 'have_ssl'").Scan(&name, &tls); err != nil ||
				tls != "YES" {
				t.Errorf("TLS: %s %v", tls, err)
			}
		}
		db.Close()
		if err := y.Down(ctx, "a"); err != nil {
			t.Error(err)
		}
		box = up(t, y, Config{Name: "a"})
		if got := value(t, open(t, box), "SELECT COUNT(*) FROM d.t"); got != "2" {
			t.Errorf("rows %s after a stop", got)
		}
		if err := y.Remove(ctx, "a"); err != nil {
			t.Error(err)
		}
		if exists(sandboxDir(y.Home, "a")) {
			t.Error("left behind")
		}
	}
	if spec == "mariadb@10.11" || spec == "mariadb@11.8" {
		box := up(t, y, Config{
			Name: "rocks", Server: s.Path,
			Settings: map[string]string{"plugin_load_add": "ha_rocksdb.so"},
		})
		db := open(t, box)
		for _, q := range []string{
			"CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=RocksDB",
			"INSERT INTO d.t VALUES (1)",
		} {
			if _, err := db.Exec(q); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
}
