package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// sysbench runs the real thing, and fails the test where it is not installed.
func sysbench(t *testing.T, s *servers.Server, schema string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("sysbench"); err != nil {
		t.Fatalf("install sysbench 1.0: %v", err)
	}
	all := append([]string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=" + schema, "--verbosity=3"},
		args...)
	out, err := exec.CommandContext(t.Context(), "sysbench", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("sysbench %s: %v\n%s", strings.Join(all, " "), err, out)
	}
	return string(out)
}

var autoIncrement = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func createTable(t *testing.T, s *servers.Server, table string) string {
	t.Helper()
	var name, text string
	if err := s.DB(t, "").QueryRow("SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return autoIncrement.ReplaceAllString(text, "")
}

// facts reads one row of figures about the rows of a table.
func facts(t *testing.T, s *servers.Server, table string) string {
	t.Helper()
	const group = "[0-9]{11}"
	c, pad := group+strings.Repeat("-"+group, 9), group+strings.Repeat("-"+group, 4)
	var out string
	q := fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), MIN(id), MAX(id), COUNT(DISTINCT id), SUM(c REGEXP '^%s$'), "+
		"SUM(pad REGEXP '^%s$'), MIN(k) >= 1, MAX(k) <= COUNT(*)) FROM %s", c, pad, table)
	if err := s.DB(t, "").QueryRow(q).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTablesEqualSysbenchs makes the same tables with both, compares them, and lets each run on the other's.
func TestTablesEqualSysbenchs(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		f := func(options map[string]string) {
			t.Helper()
			s.Exec(t, "DROP DATABASE IF EXISTS ours", "DROP DATABASE IF EXISTS theirs", "CREATE DATABASE ours",
				"CREATE DATABASE theirs")
			var args []string
			for k, v := range options {
				args = append(args, "--"+k+"="+v)
			}
			const n = 3000
			args = append(args, "--tables=2", fmt.Sprintf("--table-size=%d", n))
			sysbench(t, s, "theirs", append(args, "oltp_read_write", "prepare")...)
			o := maps.Clone(options)
			maps.Copy(o, map[string]string{"tables": "2", "table-size": fmt.Sprint(n), "mysql-db": "ours"})
			prepared(t, tg, o)
			for _, table := range []string{"sbtest1", "sbtest2"} {
				if a, b := createTable(t, s, "ours."+table), createTable(t, s, "theirs."+table); a != b {
					t.Errorf("%v: Dyno's table\n%s\nsysbench's\n%s", options, a, b)
				}
				if a, b := facts(t, s, "ours."+table), facts(t, s, "theirs."+table); a != b {
					t.Errorf("%v: rows of %s: Dyno's %s, sysbench's %s", options, table, a, b)
				}
			}
			out := sysbench(t, s, "ours", append(args, "--events=30", "--time=0", "oltp_read_write", "run")...)
			if !regexp.MustCompile(`transactions:\s+30 `).MatchString(out) {
				t.Errorf("%v: sysbench on Dyno's tables:\n%s", options, out)
			}
			o["mysql-db"] = "theirs"
			r, err := on(tg).Run(t.Context(), load.Config{Workload: workload.ReadWrite{}, Options: o, Events: 30}, nil)
			if err != nil || r.Total.Operations() != 30 || r.Total.ErrorCount() > 0 {
				t.Errorf("%v: on sysbench's tables: %d operations, errors %v, %v", options,
					r.Total.Operations(), r.Total.Errors, err)
			}
			if _,
				err := on(tg).Cleanup(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: o}); err != nil {
				t.Errorf("clean up sysbench's tables: %v", err)
			}
			sysbench(t, s, "ours", append(args, "oltp_read_write", "cleanup")...)
		}
		f(map[string]string{})
		f(map[string]string{"auto-inc": "off"})
		f(map[string]string{"secondary": "on"})
		f(map[string]string{"create-secondary": "off", "mysql-storage-engine": "myisam", "skip-trx": "on"})
	})
}

// TestRowsDoNotDependOnThreads loads the same table with one session and with three.
func TestRowsDoNotDependOnThreads(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	f := func(schema string, threads int, seed uint64) string {
		t.Helper()
		d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{
			"mysql-db":   schema,
			"table-size": "25000",
		}, Threads: threads, Seed: seed}
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		return sum(t, s, schema+".sbtest1")
	}
	a, b, c := f("a", 1, 7), f("b", 3, 7), f("c", 3, 8)
	if a != b || !strings.HasPrefix(a, "25000 ") {
		t.Errorf("with one thread %s, with three %s", a, b)
	}
	if b == c {
		t.Error("another seed gives the same rows")
	}
}

func TestPrepareKeepsWhatIsThere(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "100", "tables": "2"}}
		f := func(force, foreign bool, mention string) {
			t.Helper()
			d.Force = force
			err := on(tg).Prepare(t.Context(), d, nil)
			var e *load.ExistsError
			if !errors.As(err, &e) || e.Foreign != foreign || !strings.Contains(err.Error(), mention) {
				t.Errorf("force %v: %v; want an ExistsError about %s", force, err, mention)
			}
		}
		s.Exec(t, "CREATE DATABASE sbtest", "CREATE TABLE sbtest.sbtest2 (id INT PRIMARY KEY, secret TEXT)",
			"INSERT INTO sbtest.sbtest2 VALUES (1, 'x')")
		f(false, true, "sbtest.sbtest2")
		if _, err := on(tg).Cleanup(t.Context(), d); err == nil {
			t.Error("cleanup says nothing about a table it must leave")
		}
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM sbtest.sbtest2").Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows of somebody else's table are left, %v", n, err)
		}
		s.Exec(t, "DROP TABLE sbtest.sbtest2")
		d.Force = false
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		f(false, false, "sbtest.sbtest1, sbtest.sbtest2 exists (with the 100 rows asked for)")
		s.Exec(t, "DELETE FROM sbtest.sbtest1 WHERE id > 60", "ALTER TABLE sbtest.sbtest2 ADD mine INT")
		f(false, true, "sbtest.sbtest2")
		s.Exec(t, "DROP TABLE sbtest.sbtest2")
		f(false, false, "sbtest.sbtest1 exists (with 60 rows, 100 are asked for)")
		s.Exec(t, "CREATE TABLE sbtest.sbtest2 (id INT)") // force replaces other people's too
		d.Force = true
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		dropped, err := on(tg).Cleanup(t.Context(), d)
		if err != nil || len(dropped) != 2 {
			t.Errorf("cleanup dropped %v, %v", dropped, err)
		}
	})
}

// unfinished prepares until stop says that it is enough, and returns the error.
func unfinished(t *testing.T, tg *target.Target, d load.Data, stop func(progress.Progress) bool) (err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	within(t, 90*time.Second, "prepare and its undoing", func(context.Context) {
		err = on(tg).Prepare(ctx, d, func(p progress.Progress) {
			if stop(p) {
				cancel()
			}
		})
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	return err
}

func tablesIn(t *testing.T, s *servers.Server, schema string) (n int) {
	t.Helper()
	if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?",
		schema).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// sum is a checksum of the rows of an OLTP table.
func sum(t *testing.T, s *servers.Server, table string) (sum string) {
	t.Helper()
	if err := s.DB(t, "").QueryRow("SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT_WS(',', id, k, c, pad)))) FROM " +
		table).Scan(&sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestPrepareStoppedBeforeRowsLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := load.Data{
			Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "1000", "tables": "2"},
			Threads: 2,
		}
		err := unfinished(t, tg, d, func(p progress.Progress) bool { return p.Step == "loading rows" && p.Done == 0 })
		if !strings.Contains(err.Error(), "dropped again") {
			t.Errorf("cancelled before the first row: %v", err)
		}
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'sbtest'").
			Scan(&n); err != nil || n != 0 {
			t.Errorf("the database is still there (%v)", err)
		}
	})
}

// TestPrepareTakesNoWordForIt has a record of an earlier prepare that no prepare leaves.
func TestPrepareTakesNoWordForIt(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := load.Data{
			Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "200000", "tables": "1"},
			Threads: 2,
		}
		_ = unfinished(t, tg, d, func(p progress.Progress) bool { return p.Unit == "rows" && p.Done > 0 })
		s.Exec(t, "UPDATE sbtest.dyno_prepare SET steps = -5")
		if err := on(tg).Prepare(t.Context(), d, nil); err == nil || !strings.Contains(err.Error(), "-5 steps") {
			t.Errorf("%v", err)
		}
	})
}

// TestPrepareGoesOn stops prepares in the middle and repeats them.
func TestPrepareGoesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{
			"table-size": "200000",
			"tables":     "1", "mysql-db": "whole",
		}}
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		want := sum(t, s, "whole.sbtest1")
		if n := tablesIn(t, s, "whole"); n != 1 {
			t.Errorf("%d tables after a complete prepare, want 1", n)
		}
		f := func(what string, stop func(progress.Progress) bool, between func()) {
			t.Helper()
			o := maps.Clone(d.Options)
			o["mysql-db"] = "cut"
			x := load.Data{Workload: d.Workload, Options: o, Threads: 2}
			err := unfinished(t, tg, x, stop)
			if !strings.Contains(err.Error(), "the same prepare resumes") {
				t.Errorf("%s: %v", what, err)
			}
			between()
			var loaded, rows int
			if err := s.DB(t, "").QueryRow("SELECT (SELECT SUM(loaded) FROM cut.dyno_prepare), (SELECT COUNT(*) FROM "+
				"cut.sbtest1)").Scan(&loaded, &rows); err != nil || loaded == 0 || loaded != rows {
				t.Errorf("%s: %d rows are in, %d on record, %v", what, rows, loaded, err)
			}
			other := x
			other.Seed = 99
			var u *load.UnfinishedError
			if err := on(tg).Prepare(t.Context(), other, nil); !errors.As(err, &u) {
				t.Errorf("%s: with another seed: %v", what, err)
			}
			x.Threads = 1 // the pieces are those of the record
			total := 0.0
			err = on(tg).Prepare(t.Context(), x, func(p progress.Progress) {
				if p.Step == "loading rows" {
					total = p.Total
				}
			})
			if err != nil {
				t.Fatalf("%s, then again: %v", what, err)
			}
			// Fewer when the server ended a COMMIT after its client had left: that the rows are right shows below.
			if int(total) > 200000-loaded {
				t.Errorf("%s: %d rows were in, and the rest are %v", what, loaded, total)
			}
			if got := sum(t, s, "cut.sbtest1"); got != want {
				t.Errorf("%s, then again: %s, want %s", what, got, want)
			}
			if a, b := createTable(t, s, "cut.sbtest1"), createTable(t, s, "whole.sbtest1"); a != b {
				t.Errorf("%s, then again: %s", what, a)
			}
			if n := tablesIn(t, s, "cut"); n != 1 {
				t.Errorf("%s: %d tables at the end, want 1", what, n)
			}
			if _, err := on(tg).Cleanup(t.Context(), x); err != nil {
				t.Error(err)
			}
		}
		half := func(p progress.Progress) bool { return p.Step == "loading rows" && p.Done > 0 }
		f("stopped while loading", half, func() {})
		f("stopped at the indexes", func(p progress.Progress) bool {
			return p.Step == "building indexes and statistics"
		}, func() {})
		f("server killed", half, func() { s.Kill(t); s.Launch(t) })
	}, "innodb_flush_log_at_trx_commit=1")
}

func TestPrepareWaitsForALostServer(t *testing.T) {
	s := servers.Start(t, "mariadb", "innodb_flush_log_at_trx_commit=1")
	tg := open(t, s)
	d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "300000"}, Threads: 2}
	killed := make(chan struct{})
	var once sync.Once
	back := make(chan struct{})
	go func() {
		defer close(back)
		<-killed
		s.Kill(t)
		s.Launch(t)
	}()
	err := on(tg).Prepare(t.Context(), d, func(p progress.Progress) {
		if p.Step == "loading rows" && p.Done > 0 {
			once.Do(func() { close(killed) })
		}
	})
	<-back
	if err != nil {
		t.Fatal(err)
	}
	lost := sum(t, s, "sbtest.sbtest1")
	d.Options["mysql-db"] = "whole"
	if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	if whole := sum(t, s, "whole.sbtest1"); lost != whole {
		t.Errorf("rows %s with a server that was lost, %s without", lost, whole)
	}
}

func TestCleanupOfAnUnfinishedPrepare(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "200000"}}
	half := func(p progress.Progress) bool { return p.Step == "loading rows" && p.Done > 0 }
	unfinished(t, tg, d, half)
	s.Exec(t, "DELETE FROM sbtest.sbtest1 LIMIT 1")
	if err := on(tg).Prepare(t.Context(), d, nil); err == nil || !strings.Contains(err.Error(),
		"it was changed since") {
		t.Errorf("a row less: %v", err)
	}
	if _, err := on(tg).Cleanup(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if n := tablesIn(t, s, "sbtest"); n != 0 {
		t.Errorf("cleanup leaves %d tables", n)
	}
	unfinished(t, tg, d, half)
	d.Force, d.Options = true, map[string]string{"table-size": "100"}
	if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	if n := tablesIn(t, s, "sbtest"); n != 1 {
		t.Errorf("%d tables after a forced prepare, want 1", n)
	}
}

func TestPrepareReportsProgress(t *testing.T) {
	s := servers.Start(t, "mariadb", "autocommit=OFF") // as some applications want it
	tg := open(t, s)
	var last progress.Progress
	d := load.Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "50000"}}
	err := on(tg).Prepare(t.Context(), d, func(p progress.Progress) {
		if p.Step == last.Step && p.Done < last.Done {
			t.Errorf("%s went from %v back to %v", p.Step, last.Done, p.Done)
		}
		if p.Step != last.Step && last.Step != "" && (!last.End || last.Done != last.Total) {
			t.Errorf("%s ended at %v of %v", last.Step, last.Done, last.Total)
		}
		last = p
	})
	if err != nil || !last.End {
		t.Errorf("ended with %+v, %v", last, err)
	}
}

func TestRunNamesMissingData(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		f := func(mode load.PSMode) {
			t.Helper()
			r, err := on(tg).Run(t.Context(), load.Config{
				Workload: workload.PointSelect{}, Threads: 2,
				PSMode: mode, Events: 10,
			}, nil)
			if err == nil || !strings.Contains(err.Error(), "prepare it first") || r.State != loadresult.Failed {
				t.Errorf("%s: %s, %v; want an error that says to prepare", mode, r.State, err)
			}
		}
		f(load.Auto)
		s.Exec(t, "CREATE DATABASE sbtest")
		f(load.Auto)
		f(load.Disable)
	})
}
