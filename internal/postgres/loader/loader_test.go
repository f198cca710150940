package loader

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/script"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// open returns the server as the superuser reaches it over its socket, with "" for the database that workloads name.
func open(t *testing.T, s *pgserver.Server) Server {
	t.Helper()
	return openAs(t, s, s.User, "")
}

func openAs(t *testing.T, s *pgserver.Server, user, database string) Server {
	t.Helper()
	x, err := Open(t.Context(), endpoint.Spec{
		Scheme: endpoint.Postgres, Network: "unix", Address: s.Socket, User: user, Database: database,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x.(Server)
}

// fill makes the tables of a workload.
func fill(t *testing.T, x Server, w workload.Workload, o map[string]string) {
	t.Helper()
	if err := x.Prepare(t.Context(), load.Data{Workload: w, Options: o, Threads: 2}, nil); err != nil {
		t.Fatal(err)
	}
}

// scripted returns the workload of one script.
func scripted(t *testing.T, text string) workload.Workload {
	t.Helper()
	s, err := script.Parse("test.sql", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script.Workload{Scripts: []*script.Script{s}}
}

// until asks again and again until a query gives a value.
func until(t *testing.T, s *pgserver.Server, query, want string) {
	t.Helper()
	c := s.Conn(t, "postgres")
	var got string
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := c.QueryRow(context.Background(), "SELECT ("+query+")::text").Scan(&got); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s gives %q, want %q", query, got, want)
		}
	}
}

// gone waits until the sessions of loads have ended, and the server has added up what they did.
func gone(t *testing.T, s *pgserver.Server) {
	t.Helper()
	until(t, s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dyno load'", "0")
}

// did returns the transactions that a database has committed and rolled back.
func did(t *testing.T, s *pgserver.Server, database string) (committed, rolledBack uint64) {
	t.Helper()
	until(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+database+"'", "0")
	err := s.Conn(t, "postgres").QueryRow(t.Context(), "SELECT xact_commit, xact_rollback FROM pg_stat_database "+
		"WHERE datname = $1", database).Scan(&committed, &rolledBack)
	if err != nil {
		t.Fatal(err)
	}
	return committed, rolledBack
}

// calls returns how many statements of a load the server has carried out since the last reset.
func calls(t *testing.T, s *pgserver.Server, database string) (n uint64) {
	t.Helper()
	gone(t, s)
	err := s.Conn(t, "postgres").
		QueryRow(t.Context(), "SELECT coalesce(sum(calls), 0)::int8 FROM pg_stat_statements s "+
			"JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1 AND (query ~ 'sbtest|books' OR query IN "+
			"('BEGIN', "+
			"'COMMIT', 'ROLLBACK'))", database).
		Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCounts compares what runs report with the server's own counters, on every version.
func TestCounts(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			s := pgserver.Start(t, version, "max_connections=300", "autovacuum=off") // its workers have transactions
			s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements")
			x := open(t, s)
			o := map[string]string{"tables": "2", "table-size": "2000"}
			fill(t, x, workload.ReadWrite{}, o)
			s.Exec(t, "sbtest", "CREATE TABLE books (id INT PRIMARY KEY, title TEXT, read INT)",
				"INSERT INTO books SELECT i, 'it''s ' || i, 0 FROM generate_series(1, 100) i")
			const few, many = 50, 550
			f := func(w workload.Workload, o map[string]string, mode load.PSMode, driver bool) {
				t.Helper()
				run := func(events uint64) (commits, rollbacks, errors uint64) {
					t.Helper()
					beforeC, beforeR := did(t, s, "sbtest")
					s.Exec(t, "postgres", "SELECT pg_stat_statements_reset()")
					r, err := x.Run(t.Context(), load.Config{
						Workload: w, Options: o, Threads: 4, Events: events, PSMode: mode, Seed: 1,
						Driver: driver,
					}, nil)
					if err != nil || r.Total.Operations() != events || (r.Path == "driver") != driver {
						t.Fatalf("%s %s: %d operations by %q, %v", w.Name(), mode, r.Total.Operations(), r.Path, err)
					}
					errors = r.Total.ErrorCount()
					if got, want := calls(t, s, "sbtest"), r.Total.Queries()-errors; got != want {
						t.Errorf("%s %s: the server counts %d statements, the run %d", w.Name(), mode, got, want)
					}
					c, rb := did(t, s, "sbtest")
					return c - beforeC, rb - beforeR, errors
				}
				// What the sessions do before the clock starts is the same in both runs.
				c1, r1, e1 := run(few)
				c2, r2, e2 := run(many)
				if c2-c1 != many-few || r1 != e1 || r2 != e2 {
					t.Errorf(
						"%s %s: %d more operations, %d commits; %d and %d errors, %d and %d rollbacks",
						w.Name(),
						mode,
						many-few,
						c2-c1,
						e1,
						e2,
						r1,
						r2,
					)
				}
			}
			books := scripted(t, "\\set id random(1, 100)\n\\set t 'o''clock'\nBEGIN;\n"+
				"SELECT title, read::int8 FROM books WHERE id = :id;\n\\into title n\n"+
				"UPDATE books SET read = read + 1, title = :t || :id::text WHERE id = :id;\nCOMMIT;")
			for _, driver := range []bool{false, true} {
				if driver && version != "17" { // it is the same everywhere
					continue
				}
				for _, mode := range []load.PSMode{load.Auto, load.Disable} {
					f(workload.ReadWrite{}, o, mode, driver)
					f(workload.PointSelect{}, o, mode, driver)
					f(books, map[string]string{"pgsql-db": "sbtest"}, mode, driver)
				}
			}
			dropped, err := x.Cleanup(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: o})
			if err != nil || len(dropped) != 2 || dropped[0].String() != "sbtest.sbtest1" {
				t.Errorf("cleanup: %v, %v", dropped, err)
			}
		})
	}
}

// TestEveryWorkload runs each workload that is there, and expects those that are not to say so.
func TestEveryWorkload(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := openAs(t, s, s.User, "mine") // a database that Prepare makes
	missing := 0
	for _, w := range workload.All() {
		if _, err := InDialect(w); err != nil {
			missing++
			if err = x.Prepare(t.Context(), load.Data{Workload: w}, nil); err == nil ||
				!strings.Contains(err.Error(), w.Name()+" is not there for PostgreSQL yet") {
				t.Errorf("%s: %v", w.Name(), err)
			}
			continue
		}
		o := map[string]string{}
		if w.Name() != (workload.BulkInsert{}).Name() {
			o["table-size"] = "1000"
		}
		d := load.Data{Workload: w, Options: o, Threads: 2, Force: true}
		if err := x.Prepare(t.Context(), d, nil); err != nil {
			t.Error(err)
			continue
		}
		r, err := x.Run(t.Context(), load.Config{Workload: w, Options: o, Threads: 2, Events: 20}, nil)
		if err != nil || r.Total.Operations() != 20 || r.Options["pgsql-db"] != "mine" {
			t.Errorf("%s: %d operations, %v, %v", w.Name(), r.Total.Operations(), r.Options, err)
		}
	}
	if missing != len(workload.All())-11 {
		t.Errorf("%d workloads are missing", missing)
	}
	// Without table-size: rows that the server numbers follow those of prepare.
	if n := s.Value(t, "mine", "SELECT count(*) FROM pg_class WHERE relname ~ '^sbtest.$'"); n != "2" {
		t.Errorf("%s tables", n)
	}
}

// TestScriptsThatOnlyMySQLReads expects scripts that mean something else here to be refused with their place.
func TestScriptsThatOnlyMySQLReads(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := InDialect(scripted(t, text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	f("SELECT 1\n # one\n;", "test.sql:2:2: a # begins a comment in MySQL only (write -- for a comment)")
	f(`SELECT 'it\'s';`, "test.sql:1:8: a quote after a backslash")
	if _, err := InDialect(scripted(t, "# a line of its own\nSELECT '\\n', 'it''s', :session::text;")); err != nil {
		t.Error(err)
	}
}

// TestExampleScript runs a script from a file, as the command line does.
func TestExampleScript(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE pairs (a INT, b TEXT, c FLOAT8, d TEXT)")
	file := filepath.Join(t.TempDir(), "pairs.sql")
	text := "\\option table pairs\n\\set x -5\n\\set y 1.5\n\\set b 'a''b\\\\c'\n" +
		"INSERT INTO {table} (a, b, c, d) VALUES (3-:x, :b, :y, NULL);\n" +
		"INSERT INTO pairs (a, b, c, d) VALUES (3-:x, :b, :y, NULL);\n" +
		"\\set e ''\nINSERT INTO pairs (a, b, c) VALUES (5, :e, 1);\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x := openAs(t, s, s.User, "postgres")
	for _, driver := range []bool{false, true} {
		s.Exec(t, "postgres", "TRUNCATE pairs")
		r, err := x.Run(t.Context(), load.Config{Workload: scripted(t, text), Events: 3, Driver: driver}, nil)
		if err != nil || r.Total.Queries() != 9 {
			t.Fatal(r.Total.Queries(), err)
		}
		if got := s.Value(t, "postgres", "SELECT string_agg(DISTINCT concat_ws(' ', a, b, c), ';') FROM pairs "+
			"WHERE d IS NULL"); got != `5  1;8 a'b\c 1.5` {
			t.Errorf("rows are %s", got)
		}
		_, err = x.Run(t.Context(), load.Config{
			Workload: scripted(t, "COPY pairs\nFROM STDIN;"), Events: 1, Driver: driver,
		}, nil)
		if err == nil || !strings.Contains(err.Error(), "a load has no rows to send") {
			t.Error(err)
		}
	}
}

// TestSerializationFailuresAreRetried has the row that a session waits for changed, and expects its operation to be
// tried again and to count once.
func TestSerializationFailuresAreRetried(t *testing.T) {
	s := pgserver.Start(t, "17", "default_transaction_isolation=repeatable read")
	s.Exec(t, "postgres", "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (0)")
	c := s.Conn(t, "postgres")
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE t SET n = 100"); err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	go func() {
		for q := s.Conn(t, "postgres"); ; time.Sleep(10 * time.Millisecond) {
			var n int
			if err := q.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").
				Scan(&n); err != nil || n > 0 {
				freed <- tx.Commit(t.Context())
				return
			}
		}
	}()
	r, err := openAs(t, s, s.User, "postgres").Run(t.Context(), load.Config{
		Workload: scripted(t, "BEGIN;\nUPDATE t SET n = n + 1;\nCOMMIT;"), Events: 5,
	}, nil)
	if err := <-freed; err != nil {
		t.Fatal(err)
	}
	if err != nil || r.Total.Errors["40001"] != 1 || r.Total.Operations() != 5 {
		t.Errorf("%d operations, errors %v, %v", r.Total.Operations(), r.Total.Errors, err)
	}
	if n := s.Value(t, "postgres", "SELECT n FROM t"); n != "105" {
		t.Errorf("n is %s", n)
	}
}

// TestADuplicateOfItsOwn ends the run after some attempts: it would come again for ever.
func TestADuplicateOfItsOwn(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE t (n INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	x := openAs(t, s, s.User, "postgres")
	f := func(text string, ignore []string, errors uint64, fails bool) {
		t.Helper()
		r, err := x.Run(t.Context(), load.Config{Workload: scripted(t, text), Events: 1, Ignore: ignore}, nil)
		if (err != nil) != fails || r.Total.Errors["23505"] != errors ||
			fails && !strings.Contains(err.Error(), "duplicate key") {
			t.Errorf("%s: errors %v, %v", text, r.Total.Errors, err)
		}
	}
	f("INSERT INTO t VALUES (1);", nil, 1, true)
	f("INSERT INTO t VALUES (1);", []string{"23505"}, 1, false)
	f("BEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;", nil, 101, true)
}

// TestStopEndsStatements stops a run whose statement would take an hour, and expects the server to end it too.
func TestStopEndsStatements(t *testing.T) {
	s := pgserver.Start(t, "17")
	stopped(t, s, false)
	stopped(t, s, true)
}

func stopped(t *testing.T, s *pgserver.Server, driver bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for q := s.Conn(t, "postgres"); ; time.Sleep(10 * time.Millisecond) {
			var n int
			err := q.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity "+
				"WHERE wait_event = 'PgSleep'").
				Scan(&n)
			if err != nil || n == 2 {
				cancel()
				return
			}
		}
	}()
	r, err := openAs(t, s, s.User, "postgres").Run(ctx, load.Config{
		Workload: scripted(t, "SELECT pg_sleep(3600);"), Threads: 2, Driver: driver,
	}, nil)
	if err != nil || r.State != "stopped" {
		t.Errorf("%s, %v", r.State, err)
	}
	gone(t, s)
}

// TestLostSessionsComeBack ends the sessions of a run on the server.
func TestLostSessionsComeBack(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	fill(t, x, workload.PointSelect{}, map[string]string{"table-size": "1000"})
	lost(t, s, x, false)
	lost(t, s, x, true)
}

func lost(t *testing.T, s *pgserver.Server, x Server, driver bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan string, 1)
	q := s.Conn(t, "postgres")
	runs := make(chan bool, 10) // a session that is lost before the run begins ends it
	go func() {
		select {
		case <-runs:
		case <-ctx.Done():
		}
		for ; ; time.Sleep(10 * time.Millisecond) {
			var n int
			err := q.QueryRow(ctx, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "+
				"application_name = 'dyno load' AND query ~ '^SELECT c' AND state = 'active'").Scan(&n)
			if err != nil || n > 0 {
				ended <- fmt.Sprint(n, " ", err)
				return
			}
		}
	}()
	r, err := x.Run(t.Context(), load.Config{
		Workload: workload.PointSelect{},
		Options:  map[string]string{"table-size": "1000"},
		Threads:  2,
		Time:     3 * time.Second,
		Driver:   driver,
	}, func(loadresult.Tick) { runs <- true })
	stop() // where none was ended, the one who ends them says so
	if err != nil || r.Total.Errors["lost"] == 0 || r.Total.Errors["lost"] != r.Total.Reconnects ||
		r.Total.Threads != 2 {
		t.Errorf("ended %s: errors %v, %d reconnects, %v", <-ended, r.Total.Errors, r.Total.Reconnects, err)
	}
}
