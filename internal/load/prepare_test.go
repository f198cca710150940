package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyno/internal/progress"
	"dyno/internal/run"
	"dyno/internal/target"
	"dyno/internal/workload"
	"dyno/test/servers"
)

// sysbench runs the real thing, and fails the test where it is not installed.
func sysbench(t *testing.T, s *servers.Server, schema string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("sysbench"); err != nil {
		t.Fatalf("install sysbench 1.0: %v", err)
	}
	all := append([]string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=" + schema, "--verbosity=3"}, args...)
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
	q := fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), MIN(id), MAX(id), COUNT(DISTINCT id), SUM(c REGEXP '^%s$'), SUM(pad REGEXP '^%s$'), MIN(k) >= 1, MAX(k) <= COUNT(*)) FROM %s", c, pad, table)
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
			s.Exec(t, "DROP DATABASE IF EXISTS ours", "DROP DATABASE IF EXISTS theirs", "CREATE DATABASE ours", "CREATE DATABASE theirs")
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
			r, err := Run(t.Context(), tg, Config{Workload: workload.ReadWrite{}, Options: o, Events: 30}, nil)
			if err != nil || r.Total.Operations() != 30 || r.Total.ErrorCount() > 0 {
				t.Errorf("%v: on sysbench's tables: %d operations, errors %v, %v", options, r.Total.Operations(), r.Total.Errors, err)
			}
			if _, err := Cleanup(t.Context(), tg, Data{Workload: workload.ReadWrite{}, Options: o}); err != nil {
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
	f := func(schema string, threads int, seed uint64) (sum string) {
		t.Helper()
		d := Data{Workload: workload.PointSelect{}, Options: map[string]string{"mysql-db": schema, "table-size": "25000"}, Threads: threads, Seed: seed}
		if err := Prepare(t.Context(), tg, d, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.DB(t, "").QueryRow("SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT_WS(',', id, k, c, pad)))) FROM " + schema + ".sbtest1").Scan(&sum); err != nil {
			t.Fatal(err)
		}
		return sum
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
		d := Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "100", "tables": "2"}}
		f := func(force, foreign bool, mention string) {
			t.Helper()
			d.Force = force
			err := Prepare(t.Context(), tg, d, nil)
			var e *ExistsError
			if !errors.As(err, &e) || e.Foreign != foreign || !strings.Contains(err.Error(), mention) {
				t.Errorf("force %v: %v; want an ExistsError about %s", force, err, mention)
			}
		}
		s.Exec(t, "CREATE DATABASE sbtest", "CREATE TABLE sbtest.sbtest2 (id INT PRIMARY KEY, secret TEXT)", "INSERT INTO sbtest.sbtest2 VALUES (1, 'x')")
		f(false, true, "sbtest.sbtest2")
		f(true, true, "sbtest.sbtest2")
		if _, err := Cleanup(t.Context(), tg, d); err == nil {
			t.Error("cleanup says nothing about a table it must leave")
		}
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM sbtest.sbtest2").Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows of somebody else's table are left, %v", n, err)
		}
		s.Exec(t, "DROP TABLE sbtest.sbtest2")
		d.Force = false
		if err := Prepare(t.Context(), tg, d, nil); err != nil {
			t.Fatal(err)
		}
		f(false, false, "sbtest.sbtest1, sbtest.sbtest2")
		d.Force = true
		if err := Prepare(t.Context(), tg, d, nil); err != nil {
			t.Fatal(err)
		}
		dropped, err := Cleanup(t.Context(), tg, d)
		if err != nil || len(dropped) != 2 {
			t.Errorf("cleanup dropped %v, %v", dropped, err)
		}
	})
}

func TestCancelledPrepareLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		f := func(step string) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "60000", "tables": "2"}, Threads: 2}
			var err error
			within(t, 90*time.Second, "prepare and its undoing", func(context.Context) {
				err = Prepare(ctx, tg, d, func(p progress.Progress) {
					if p.Step == step && (p.Done > 0 || step != "loading rows") {
						cancel()
					}
				})
			})
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "dropped again") {
				t.Errorf("cancelled while %s: %v", step, err)
			}
			var n int
			if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'sbtest'").Scan(&n); err != nil || n != 0 {
				t.Errorf("cancelled while %s: the database is still there (%v)", step, err)
			}
		}
		f("loading rows")
		f("building indexes and statistics")
	})
}

func TestPrepareReportsProgress(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	var last progress.Progress
	d := Data{Workload: workload.PointSelect{}, Options: map[string]string{"table-size": "50000"}}
	err := Prepare(t.Context(), tg, d, func(p progress.Progress) {
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
		f := func(mode PSMode) {
			t.Helper()
			r, err := Run(t.Context(), tg, Config{Workload: workload.PointSelect{}, Threads: 2, PSMode: mode, Events: 10}, nil)
			if err == nil || !strings.Contains(err.Error(), "prepare it first") || r.State != run.Failed {
				t.Errorf("%s: %s, %v; want an error that says to prepare", mode, r.State, err)
			}
		}
		f(Auto)
		s.Exec(t, "CREATE DATABASE sbtest")
		f(Auto)
		f(Disable)
	})
}
