package pgserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStart(t *testing.T) {
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			s := Start(t, version, "max_connections=17")
			if v := s.Value(t, "postgres", "SHOW max_connections"); v != "17" {
				t.Errorf("max_connections is %s", v)
			}
			if v := s.Value(t, "postgres", "SHOW server_version"); v[:len(s.Version)] != s.Version {
				t.Errorf("it is %s, not %s", v, s.Version)
			}
			s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements", "CREATE DATABASE d")
			s.Exec(t, "d", "CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			s.Kill(t)
			s.Launch(t)
			if v := s.Value(t, "d", "SELECT a FROM t"); v != "1" {
				t.Errorf("after a crash: %s", v)
			}
			s.Stop(t)
			if _, err := os.Stat(s.Data + "/postmaster.pid"); err == nil {
				t.Error("still running after Stop")
			}
			s.Launch(t)
		})
	}
}

// TestReachable: a build below a directory that is closed to the servers' account runs from a copy.
func TestReachable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the server runs as another account for root alone")
	}
	s := Start(t, "17")
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(home+"/x/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/x/bin/postgres", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := reachable(build{"test", home + "/x/bin"})
	if err != nil || dir == home+"/x/bin" || command("/usr/bin/test", "-x", dir+"/postgres").Run() != nil {
		t.Errorf("%s of %s: %v", dir, s.Version, err)
	}
	os.RemoveAll(filepath.Dir(dir))
}

func TestFind(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	if _, err := find("9.1"); err == nil {
		t.Error("finds PostgreSQL 9.1")
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"17.10", "17.9", true}, {"17.9", "17.10", false}, {"17.1", "", true}} {
		if newer(c.a, c.b) != c.want {
			t.Errorf("%s newer than %q: %v", c.a, c.b, !c.want)
		}
	}
}
