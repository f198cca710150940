package loader

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/pgserver"
)

func TestPreflight(t *testing.T) {
	s := pgserver.Start(t, "17", "max_connections=20", "fsync=off", "synchronous_commit=off", "autovacuum=off",
		"log_statement=all")
	s.Exec(t, "postgres", "CREATE ROLE reader LOGIN", "CREATE DATABASE empty")
	x := open(t, s)
	f := func(x Server, c load.Config, want ...string) {
		t.Helper()
		if c.Workload == nil {
			c.Workload = workload.ReadWrite{}
		}
		remarks, err := x.Preflight(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, r := range remarks {
			all = append(all, string(r.Severity)+": "+r.String())
		}
		text := strings.Join(all, "\n")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
		if len(all) != len(want) {
			t.Errorf("%d remarks, want %d:\n%s", len(all), len(want), text)
		}
	}
	lost := "note: a crash may lose commits or pages (fsync=off, synchronous_commit=off)"
	logs, vacuum := "warn: the server logs every statement (log_statement=all", "note: autovacuum is off"
	f(x, load.Config{}, "refuse: the tables do not exist: ")
	f(x, load.Config{Options: map[string]string{"pgsql-db": "empty"}},
		`refuse: the tables do not exist: ERROR: relation "sbtest1" does not exist`, lost, logs, vacuum)
	fill(t, x, workload.ReadWrite{}, map[string]string{"table-size": "100"})
	f(x, load.Config{Options: map[string]string{"table-size": "100"}}, lost, logs, vacuum)
	f(x, load.Config{Workload: workload.PointSelect{}, Threads: 30},
		"warn: sbtest1 has ids to 100 only, but table-size=10000", logs,
		"refuse: 30 sessions are more than the server takes: max_connections=20")
	f(
		openAs(t, s, "reader", ""),
		load.Config{},
		"refuse: the account is missing a privilege on sbtest1; GRANT SELECT, "+
			"INSERT, UPDATE, DELETE ON sbtest1",
		lost,
		logs,
		vacuum,
	)
	s.Exec(t, "sbtest", "ALTER TABLE sbtest1 RENAME pad TO filler")
	f(x, load.Config{Options: map[string]string{"table-size": "100"}},
		"refuse: tables of these names are not those of oltp_read_write", lost, logs, vacuum)
	s.Exec(t, "postgres", "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	until(t, s, "SELECT current_setting('default_transaction_read_only')", "on")
	f(open(t, s), load.Config{Workload: workload.UpdateIndex{}, Options: map[string]string{"table-size": "100"}},
		"refuse: transactions of new sessions may only read", lost, logs, vacuum)
}
