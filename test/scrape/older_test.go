//go:build install

// Package scrape_test reads every source on servers of many versions.
package scrape_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// TestOlderServers fetches servers as `dyno sandbox install` does, some 1.3 GB, and reads every source twice on each.
// DYNO_TEST_YARD names a home to keep the builds in. What a version lacks must be told as missing, and nothing else may
// go wrong.
func TestOlderServers(t *testing.T) {
	home := os.Getenv("DYNO_TEST_YARD")
	if home == "" {
		home = t.TempDir()
	}
	program := filepath.Join(t.TempDir(), "dyno")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/dyno-perf/dyno/cmd/dyno").
		CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, x := range []struct {
		spec    string
		missing []string // sources
		names   []string // metrics that must be there besides those that all have
	}{
		{"mysql@5.5", []string{
			"innodb_metrics", "memory", "memory_users", "stages", "file_io", "table_io", "files",
			"userstat", "sizes",
		}, nil},
		{"mysql@5.6", []string{"memory", "memory_users", "userstat"}, []string{
			"mysql_perf_schema_table_io_waits_total",
			"mysql_info_schema_table_size",
		}},
		{"mysql@8.0", []string{"userstat"}, []string{
			"mysql_perf_schema_memory_events_used_bytes",
			"mysql_info_schema_innodb_tablespace_file_size_bytes", "mysql_slave_status_seconds_behind_master",
		}},
		{"mysql@9.7", []string{"userstat"}, []string{
			"mysql_perf_schema_memory_events_used_bytes",
			"mysql_info_schema_innodb_tablespace_file_size_bytes", "mysql_slave_status_seconds_behind_source",
		}},
		{
			"mariadb@10.1",
			[]string{"memory", "memory_users"},
			[]string{"mysql_info_schema_user_statistics_total_connections", "mysql_info_schema_table_size"},
		},
		{
			"mariadb@10.2",
			[]string{"memory", "memory_users"},
			[]string{
				"mysql_info_schema_user_statistics_total_connections",
				"mysql_info_schema_innodb_tablespace_file_size_bytes",
			},
		},
		{"mariadb@10.11", nil, []string{
			"mysql_info_schema_user_statistics_total_connections",
			"mysql_perf_schema_memory_events_used_bytes",
		}},
		{"mariadb@11.4", nil, []string{"mysql_info_schema_user_statistics_total_connections"}},
		{"mariadb@11.8", nil, []string{"mysql_info_schema_user_statistics_total_connections"}},
	} {
		t.Run(x.spec, func(t *testing.T) {
			s := sandbox(t, program, home, x.spec)
			for round := range 2 {
				r := s.Once(t.Context())
				for _, src := range r.Sources {
					want := source.OK
					if slices.Contains(x.missing, src.Name) {
						want = source.Missing
					}
					if src.State != want {
						t.Errorf("round %d: %s is %s: %s; want %s", round, src.Name, src.State, src.Reason, want)
					}
				}
				for _, n := range append(x.names, "mysql_version_info", "mysql_global_variables_max_connections",
					"dyno_innodb_lsn_bytes_total", "mysql_global_status_uptime",
					"mysql_info_schema_innodb_cmp_compress_ops_total", "mysql_binlog_files") {
					if !has(r, n) && !(n == "mysql_slave_status_seconds_behind_master" &&
						has(r, "mysql_slave_status_master_port")) &&
						!(n == "mysql_slave_status_seconds_behind_source" && has(r, "mysql_slave_status_source_port")) {
						t.Errorf("round %d: no %s", round, n)
					}
				}
			}
		})
	}
}

func has(r reading.Reading, name string) bool {
	for _, x := range r.Samples {
		if x.Name == name {
			return true
		}
	}
	return false
}

// sandbox starts a server of the version with everything on that it has, a table, and a source to follow that is not
// there.
func sandbox(t *testing.T, program, yard, spec string) *scrape.Scraper {
	t.Helper()
	flavor, version, _ := strings.Cut(spec, "@")
	builds := func() []string {
		found, err := filepath.Glob(filepath.Join(yard, "servers", flavor+"-"+version+"*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(builds()) == 0 {
		c := exec.CommandContext(t.Context(), program, "sandbox", "install", spec)
		c.Env = append(os.Environ(), "DYNO_HOME="+yard)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("install %s: %v\n%s", spec, err, out)
		}
	}
	home, err := os.MkdirTemp("/var/tmp", "dyno-scrape-") // the server's account must be able to enter
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) []byte {
		c := exec.Command(program, args...)
		c.Env = append(os.Environ(), "DYNO_HOME="+home)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Errorf("dyno %s: %v %s", strings.Join(args, " "), err, stderr.String())
		}
		return out
	}
	t.Cleanup(func() {
		do("sandbox", "rm", "--all")
		os.RemoveAll(home)
	})
	args := []string{
		"sandbox", "up", "x", "--server", builds()[0], "--output", "json", "--set",
		"performance_schema=ON", "--set", "log_bin=b", "--set", "server_id=7",
	}
	if flavor == "mariadb" {
		args = append(args, "--set", "userstat=1")
	}
	var box struct{ Socket string }
	if err := json.Unmarshal(do(args...), &box); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	u, err := endpoint.ParseURL("unix://" + box.Socket + "?user=root")
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	for _, q := range []string{
		"CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB",
		"INSERT INTO d.t VALUES (1)", "SELECT * FROM d.t",
		"UPDATE performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES' WHERE NAME LIKE 'stage/%' OR " +
			"NAME LIKE 'memory/%'",
	} {
		if _, err := tg.DB().ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	follow := "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'"
	if _, err := tg.DB().ExecContext(t.Context(), follow); err != nil {
		if _, err := tg.DB().ExecContext(t.Context(), strings.ReplaceAll(strings.ReplaceAll(follow, "CHANGE MASTER",
			"CHANGE REPLICATION SOURCE"), "MASTER_", "SOURCE_")); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sources.New(tg, scrape.Options{Also: sources.Names(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
