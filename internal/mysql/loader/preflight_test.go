package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// remarksOf returns what preflight says, by severity, one a line.
func remarksOf(t *testing.T, tg *target.Target, c load.Config) map[load.Severity]string {
	t.Helper()
	list, err := on(tg).Preflight(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out := map[load.Severity]string{}
	sorted := slices.Clone(list)
	load.SortRemarks(sorted)
	if !slices.Equal(list, sorted) {
		t.Errorf("not the worst first: %v", list)
	}
	for _, r := range list {
		out[r.Severity] += r.String() + "\n"
	}
	return out
}

// openAs returns a target for another account.
func openAs(t *testing.T, s *servers.Server, user string) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	return tg
}

// TestPreflightIsSilent: a server that is set up well, and what a run does there, gives no remark.
func TestPreflightIsSilent(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		o := map[string]string{"tables": "2", "table-size": "1000"}
		prepared(t, tg, o)
		for _, w := range workload.All()[:8] { // the others have tables of their own
			before := s.Status(t, "Com_insert") + s.Status(t, "Com_update") + s.Status(t, "Com_delete")
			if got := remarksOf(t, tg, load.Config{Workload: w, Options: o, Threads: 4}); len(got) > 0 {
				t.Errorf("%s: %v", w.Name(), got)
			}
			if after := s.Status(t, "Com_insert") + s.Status(t, "Com_update") +
				s.Status(t, "Com_delete"); after != before {
				t.Errorf("%s: preflight wrote: %d statements", w.Name(), after-before)
			}
		}
		if n := s.Status(t, "Prepared_stmt_count"); n != 0 {
			t.Errorf("%d prepared statements are left", n)
		}
		if _, err := on(tg).Preflight(t.Context(), load.Config{
			Workload: workload.ReadOnly{},
			Options:  map[string]string{"table-sise": "1"},
		}); err == nil {
			t.Error("a wrong option is no error")
		}
	}, "innodb-flush-log-at-trx-commit=1", "sync-binlog=1")
}

// TestPreflightFindsWhatIsWrong sets servers up wrongly on purpose.
func TestPreflightFindsWhatIsWrong(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		o := map[string]string{"tables": "2", "table-size": "20000"}
		prepared(t, tg, o)
		c := load.Config{Workload: workload.ReadWrite{}, Options: o, Threads: 4}
		has := func(c load.Config, tg *target.Target, severity load.Severity, texts ...string) {
			t.Helper()
			got := remarksOf(t, tg, c)
			for _, x := range texts {
				if !strings.Contains(got[severity], x) {
					t.Errorf("no %s of %q in %q", severity, x, got)
				}
			}
		}
		has(c, tg, load.Note, "innodb_flush_log_at_trx_commit=0", "reads go to the disk")
		s.Exec(t, "SET GLOBAL autocommit=OFF")
		has(c, tg, load.Warn, "general log is on", "slow log is on with long_query_time=0.000000", "autocommit is off",
			"performance_schema measures")
		s.Exec(t, "SET GLOBAL autocommit=ON")

		more := c
		more.Threads = 25
		has(more, tg, load.Warn, "max_connections=26, and")
		more.Threads = 27
		has(more, tg, load.Refuse, "27 sessions are more than the server takes: max_connections=26",
			"27 sessions prepare 18 statements each, more than the server keeps: max_prepared_stmt_count=300")
		more.PSMode = load.Disable
		if got := remarksOf(t, tg, more); strings.Contains(got[load.Refuse], "prepare 18") {
			t.Errorf("nothing is prepared, but %q", got)
		}

		// Preflight speaks the truth: that run does fail.
		more.Threads, more.PSMode, more.Events = 20, load.Auto, 20
		has(more, tg, load.Refuse, "max_prepared_stmt_count=300")
		if _, err := on(tg).Run(t.Context(), more, nil); err == nil {
			t.Error("a run that preflight refuses succeeds")
		}

		gone := c
		gone.Options = map[string]string{"tables": "3", "table-size": "20000"}
		has(gone, tg, load.Refuse, "the tables do not exist", "sbtest3", "prepare oltp_read_write first")
		gone.Options = map[string]string{"mysql-db": "nowhere"}
		has(gone, tg, load.Refuse, "the tables do not exist", "nowhere")

		s.Exec(t, "CREATE DATABASE other", "CREATE TABLE other.sbtest1 (id INT, name INT)")
		has(load.Config{Workload: workload.PointSelect{}, Options: map[string]string{"mysql-db": "other"}}, tg,
			load.Refuse,
			"not those of oltp_point_select: Error 1054")

		s.Exec(t, "CREATE USER 'reader'@'localhost' WITH MAX_USER_CONNECTIONS 4",
			"GRANT SELECT ON sbtest.* TO 'reader'@'localhost'")
		reader := openAs(t, s, "reader")
		has(c, reader, load.Refuse, "the account is missing a privilege", "UPDATE",
			"GRANT SELECT, INSERT, UPDATE, DELETE",
			"`sbtest`.* TO 'reader'@'localhost'", "max_user_connections=4")
		readOnly := load.Config{Workload: workload.ReadOnly{}, Options: o, Threads: 3}
		if got := remarksOf(t, reader, readOnly); got[load.Refuse] != "" {
			t.Errorf("an account that may read cannot: %q", got)
		}
		if s.Flavor == "mysql" {
			has(readOnly, reader, load.Note, "what it measures is unknown")
		}

		s.Exec(t, "SET GLOBAL read_only=ON")
		has(c, tg, load.Warn, "read_only is on, but not for this account")
		s.Exec(t, "CREATE USER 'writer'@'localhost'", "GRANT SELECT, INSERT, UPDATE, DELETE ON sbtest.* TO "+
			"'writer'@'localhost'")
		writer := openAs(t, s, "writer")
		has(c, writer, load.Refuse, "the server takes no writes from this account: read_only is on")
		if got := remarksOf(t, writer, readOnly); got[load.Refuse] != "" {
			t.Errorf("a load that reads is refused: %q", got)
		}
		if s.Flavor == "mysql" {
			s.Exec(t, "SET GLOBAL super_read_only=ON")
			has(c, tg, load.Refuse, "super_read_only is on")
			s.Exec(t, "SET GLOBAL super_read_only=OFF")
		} else {
			s.Exec(t, "SET GLOBAL query_cache_type=ON", "SET GLOBAL max_statement_time=1")
			has(c, tg, load.Warn, "query cache is on", "max_statement_time")
		}
		s.Exec(t, "SET GLOBAL read_only=OFF")
	}, "innodb-flush-log-at-trx-commit=0", "general-log=ON", "slow-query-log=ON", "long-query-time=0",
		"max-connections=26", "max-prepared-stmt-count=300",
		"innodb-buffer-pool-size=6M", "performance-schema=ON", "performance-schema-instrument=wait/synch/mutex/%=ON",
		"loose-query-cache-size=1M")
}

// TestPreflightManyTables needs a server with a small cache of tables.
func TestPreflightManyTables(t *testing.T) {
	s := servers.Start(t, "mariadb", "table-open-cache=10", "version=10.11.99-MariaDB-debug")
	tg := open(t, s)
	o := map[string]string{"tables": "12", "table-size": "10"}
	prepared(t, tg, o)
	got := remarksOf(t, tg, load.Config{Workload: workload.PointSelect{}, Options: o, Threads: 4})
	if !strings.Contains(got[load.Warn], "table_open_cache=10, 12 tables and 4 sessions") ||
		!strings.Contains(got[load.Warn], "10.11.99-MariaDB-debug is a build for debugging") {
		t.Errorf("%q", got)
	}
	// A server that is gone is an error, not silence.
	s.Kill(t)
	if _, err := on(tg).Preflight(t.Context(), load.Config{Workload: workload.PointSelect{}, Options: o}); err == nil {
		t.Error("preflight of a dead server succeeds")
	}
}
