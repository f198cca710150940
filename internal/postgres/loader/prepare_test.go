package loader

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// sysbench runs the real thing, and fails the test where it is not installed.
func sysbench(t *testing.T, s *pgserver.Server, database string, args ...string) string {
	t.Helper()
	all := append([]string{
		"--db-driver=pgsql", "--pgsql-host=" + s.Dir, "--pgsql-port=" + regexp.MustCompile(`\d+$`).FindString(s.Socket),
		"--pgsql-user=" + s.User, "--pgsql-db=" + database, "--verbosity=3",
	}, args...)
	out, err := exec.CommandContext(t.Context(), "sysbench", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("sysbench %s: %v\n%s", strings.Join(all, " "), err, out)
	}
	return string(out)
}

// shape describes the tables, columns, indexes and sequences of a database.
const shape = `SELECT string_agg(x, E'\n' ORDER BY x) FROM (
 SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length, column_default, is_nullable) x
  FROM information_schema.columns WHERE table_schema = 'public'
 UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
 UNION ALL SELECT concat_ws(' ', sequencename, last_value) FROM pg_sequences) y`

// facts reads one row of figures about the rows of a table.
const facts = `SELECT concat_ws(' ', count(*), min(id), max(id), count(DISTINCT id),
 sum((c ~ '^\d{11}(-\d{11}){9} *$')::int), sum((pad ~ '^\d{11}(-\d{11}){4} *$')::int), min(k) >= 1,
 max(k) <= count(*)) FROM sbtest2`

// TestTablesEqualSysbenchs makes the same tables with both, compares them, and lets each run on the other's.
func TestTablesEqualSysbenchs(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	s.Exec(t, "postgres", "CREATE DATABASE theirs")
	f := func(options ...string) {
		t.Helper()
		options = append(options, "--tables=2", "--table-size=3000")
		sysbench(t, s, "theirs", append(options, "oltp_read_write", "prepare")...)
		o := map[string]string{"pgsql-db": "ours"}
		for _, x := range options {
			k, v, _ := strings.Cut(strings.TrimPrefix(x, "--"), "=")
			o[k] = v
		}
		fill(t, x, workload.ReadWrite{}, o)
		for _, q := range []string{shape, facts} {
			if a, b := s.Value(t, "ours", q), s.Value(t, "theirs", q); a != b {
				t.Errorf("%v: Dyno's\n%s\nsysbench's\n%s", options, a, b)
			}
		}
		out := sysbench(t, s, "ours", append(options, "--events=30", "--time=0", "oltp_read_write", "run")...)
		if !regexp.MustCompile(`transactions:\s+30 `).MatchString(out) {
			t.Errorf("%v: sysbench on Dyno's tables:\n%s", options, out)
		}
		sysbench(t, s, "ours", append(options, "oltp_read_write", "cleanup")...)
		o["pgsql-db"] = "theirs"
		r, err := x.Run(t.Context(), load.Config{Workload: workload.ReadWrite{}, Options: o, Events: 30}, nil)
		if err != nil || r.Total.Operations() != 30 || r.Total.ErrorCount() > 0 {
			t.Errorf("%v: on sysbench's tables: %d operations, errors %v, %v", options, r.Total.Operations(),
				r.Total.Errors, err)
		}
		if _, err := x.Cleanup(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: o}); err != nil {
			t.Error(err)
		}
	}
	f()
	f("--auto-inc=off")
	f("--create-secondary=off", "--skip-trx=on")
}

// sum is a checksum of the rows of an OLTP table.
const sum = "SELECT count(*) || ' ' || sum(hashtextextended(concat_ws(',', id, k, c, pad), 0)) FROM sbtest1"

func TestRowsDoNotDependOnThreads(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	f := func(database string, threads int, seed uint64) string {
		t.Helper()
		var last progress.Progress
		d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{
			"pgsql-db": database, "table-size": "25000",
		}, Threads: threads, Seed: seed}
		err := x.Prepare(t.Context(), d, func(p progress.Progress) {
			if p.Step == last.Step && p.Done < last.Done || p.Step != last.Step && last.Step != "" && !last.End {
				t.Errorf("%+v after %+v", p, last)
			}
			last = p
		})
		if err != nil || !last.End || last.Done != last.Total {
			t.Fatalf("%+v, %v", last, err)
		}
		return s.Value(t, database, sum)
	}
	a, b, c := f("a", 1, 7), f("b", 3, 7), f("c", 3, 8)
	if a != b || !strings.HasPrefix(a, "25000 ") || b == c {
		t.Errorf("with one thread %s, with three %s, of another seed %s", a, b, c)
	}
}

func TestPrepareKeepsWhatIsThere(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "100", "tables": "2"}}
	f := func(foreign bool, mention string) {
		t.Helper()
		err := x.Prepare(t.Context(), d, nil)
		var e *load.ExistsError
		if !errors.As(err, &e) || e.Foreign != foreign || !strings.Contains(err.Error(), mention) {
			t.Errorf("%v; want an ExistsError about %s", err, mention)
		}
	}
	s.Exec(t, "postgres", "CREATE DATABASE sbtest")
	s.Exec(t, "sbtest", "CREATE TABLE sbtest2 (id INT PRIMARY KEY, secret TEXT)", "INSERT INTO sbtest2 VALUES (1, 'x')")
	f(true, "sbtest.sbtest2 exists with other columns")
	if _, err := x.Cleanup(t.Context(), d); err == nil {
		t.Error("cleanup says nothing about a table it must leave")
	}
	if n := s.Value(t, "sbtest", "SELECT count(*) FROM sbtest2"); n != "1" {
		t.Fatalf("%s rows of someone else's table are left", n)
	}
	s.Exec(t, "sbtest", "DROP TABLE sbtest2")
	fill(t, x, d.Workload, d.Options)
	f(false, "sbtest.sbtest1, sbtest.sbtest2 exists (with the 100 rows asked for)")
	s.Exec(t, "sbtest", "DELETE FROM sbtest1 WHERE id > 60")
	f(false, "(with 60 rows, 100 are asked for)")
	s.Exec(t, "sbtest", "ALTER TABLE sbtest2 ADD mine INT")
	d.Force = true // it replaces other people's too
	if err := x.Prepare(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	if dropped, err := x.Cleanup(t.Context(), d); err != nil || len(dropped) != 2 {
		t.Errorf("cleanup dropped %v, %v", dropped, err)
	}
	d.Options = map[string]string{"pgsql-db": "nowhere"}
	if dropped, err := x.Cleanup(t.Context(), d); err != nil || len(dropped) != 0 {
		t.Errorf("cleanup where there is no database: %v, %v", dropped, err)
	}
}

func TestPrepareThatIsStoppedLeavesNothing(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "2000000"}, Threads: 2}
	err := x.Prepare(ctx, d, func(p progress.Progress) {
		if p.Step == "loading rows" && p.Done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "dropped again") {
		t.Errorf("%v", err)
	}
	if n := s.Value(t, "sbtest", "SELECT count(*) FROM pg_class WHERE relname ~ 'sbtest'"); n != "0" {
		t.Errorf("%s tables, indexes and sequences are left", n)
	}
	gone(t, s)
}

// TestPrepareKeepsWhatAppears: another session makes a table at the same time, and is faster.
func TestPrepareKeepsWhatAppears(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, s)
	s.Exec(t, "postgres", "CREATE DATABASE sbtest")
	other, watch := s.Conn(t, "sbtest"), s.Conn(t, "postgres")
	for _, q := range []string{"BEGIN", "CREATE TABLE sbtest1 (id serial PRIMARY KEY, mine int)"} {
		if _, err := other.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- x.Prepare(t.Context(), load.Data{
			Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "10", "tables": "2"},
		}, nil)
	}()
	for waits := 0; waits == 0; time.Sleep(5 * time.Millisecond) {
		if err := watch.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "+
			"AND application_name = 'dyno load'").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
	}
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if code, _ := conn.SQLState(<-ended); code != duplicate {
		t.Errorf("SQLSTATE %s", code)
	}
	if n := s.Value(t, "sbtest", "SELECT count(mine) FROM sbtest1"); n != "0" {
		t.Errorf("%s", n)
	}
}
