package loader

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// fixed is a workload of one operation that is the same every time.
type fixed struct {
	schema string
	calls  []workload.Statement
	think  time.Duration
}

func (fixed) Name() string               { return "fixed" }
func (fixed) Title() string              { return "always the same" }
func (fixed) Options() []workload.Option { return nil }
func (w fixed) Build(map[string]string) (*workload.Plan, error) {
	p := &workload.Plan{
		Workload: "fixed", Schema: w.schema, Options: map[string]string{},
		Operations: []string{"fixed"}, Statements: w.calls,
	}
	p.Generator = func(uint64, int) workload.Generator {
		g := always{think: w.think}
		for i := range w.calls {
			g.Calls = append(g.Calls, workload.Call{Statement: i})
		}
		return &g
	}
	return p, nil
}

type always struct {
	workload.Listed
	think time.Duration
}

func (a *always) Begin(op *workload.Op) {
	*op = workload.Op{Think: a.think}
	a.Again()
}

func text(sql string) workload.Statement {
	k := workload.Write
	switch {
	case strings.HasPrefix(sql, "SELECT"):
		k = workload.Read
	case sql == "BEGIN", sql == "COMMIT":
		k = workload.Other
	}
	return workload.Statement{SQL: sql, Kind: k, Rows: k == workload.Read, Text: true}
}

func texts(sql ...string) fixed {
	w := fixed{schema: "x"}
	for _, s := range sql {
		w.calls = append(w.calls, text(s))
	}
	return w
}

// TestLockWaitsAreRetried holds a row's lock until the load has run into it, and expects the operation to end well
// after that.
func TestLockWaitsAreRetried(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY, n INT)",
			"INSERT INTO x.t VALUES (1, 0), (2, 0)")
		tx, err := s.DB(t, "x").Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE t SET n = 100 WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		w := texts("BEGIN", "UPDATE t SET n = n + 1 WHERE id = 1", "UPDATE t SET n = n + 1 WHERE id = 2", "COMMIT")
		held := true
		r, err := on(tg).Run(t.Context(), load.Config{Driver: driver, Workload: w, Events: 3}, func(x loadresult.Tick) {
			if x.Errors["1205"] > 0 && held {
				held = false
				if err := tx.Rollback(); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil || r.Total.Operations() != 3 || r.Total.Errors["1205"] == 0 {
			t.Errorf("%d operations, errors %v, %v; want 3 operations after lock wait timeouts",
				r.Total.Operations(), r.Total.Errors, err)
		}
		var one, two int
		if err := s.DB(t, "x").QueryRow("SELECT (SELECT n FROM t WHERE id = 1), (SELECT n FROM t WHERE id = 2)").
			Scan(&one, &two); err != nil {
			t.Fatal(err)
		}
		if one != 3 || two != 3 {
			t.Errorf("rows were updated %d and %d times, want 3: a failed operation left something behind", one, two)
		}
		if n := r.Total.Errors["1205"]; r.Total.Ops[0].Others != 2*3+2*n { // BEGIN and ROLLBACK of each failed attempt
			t.Errorf("%d other statements, want %d", r.Total.Ops[0].Others, 2*3+2*n)
		}
	}, "innodb_lock_wait_timeout=1")
}

func TestDeadlocksAreRetried(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		o := map[string]string{"table-size": "10", "delete-inserts": "4", "range-selects": "off", "point-selects": "0"}
		prepared(t, tg, o)
		var r loadresult.Run
		within(t, 60*time.Second, "a run into deadlocks", func(ctx context.Context) {
			var err error
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			r, err = on(tg).Run(ctx,
				load.Config{Driver: driver, Workload: workload.ReadWrite{}, Options: o, Threads: 8},
				func(x loadresult.Tick) {
					if x.Errors["1213"] > 0 {
						cancel()
					}
				})
			if err != nil {
				t.Error(err)
			}
		})
		if r.State != loadresult.Stopped || r.Total.Errors["1213"] == 0 {
			t.Errorf("%s with errors %v, want deadlocks", r.State, r.Total.Errors)
		}
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM sbtest.sbtest1").Scan(&n); err != nil || n != 10 {
			t.Errorf("%d rows are left of 10, %v", n, err)
		}
	})
}

func TestErrorsEndTheRunUnlessIgnored(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY)", "INSERT INTO x.t VALUES (1)")
		w := texts("SELECT 1", "INSERT INTO t VALUES (1)")
		r, err := on(tg).Run(t.Context(), load.Config{Driver: driver, Workload: w, Events: 5}, nil)
		if err == nil || r.State != loadresult.Failed || r.Total.Errors["1062"] != 1 ||
			!strings.Contains(r.Error, "INSERT INTO t") {
			t.Errorf("%s with errors %v, %v; want it failed at the first duplicate key, naming the statement",
				r.State, r.Total.Errors, err)
		}
		f := func(c load.Config) {
			t.Helper()
			c.Workload, c.Events = w, 5
			r, err := on(tg).Run(t.Context(), c, nil)
			if err != nil || r.State != loadresult.Done || r.Total.Errors["1062"] != 5 || r.Total.Operations() != 0 ||
				r.Total.Queries() != 10 {
				t.Errorf("%s: %d operations, %d queries, errors %v, %v", r.State, r.Total.Operations(),
					r.Total.Queries(), r.Total.Errors, err)
			}
		}
		f(load.Config{Driver: driver, Ignore: []string{"1062"}})
		f(load.Config{Driver: driver, IgnoreAll: true})
	})
}

// TestLostConnectionsComeBack kills the sessions of a run one by one, then the whole server.
func TestLostConnectionsComeBack(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		prepared(t, tg, nil)
		db := s.DB(t, "")
		killed := 0
		var after uint64 // operations since everything was killed
		down := false
		var r loadresult.Run
		within(t, 120*time.Second, "a run through a crash", func(ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var err error
			r, err = on(tg).Run(ctx, load.Config{
				Driver: driver, Workload: workload.ReadWrite{}, Threads: 3,
				Reconnect: 2 * time.Minute,
			}, func(x loadresult.Tick) {
				switch {
				case killed < 2:
					var id int
					if db.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'sbtest' LIMIT 1").
						Scan(&id) == nil {
						s.Exec(t, fmt.Sprintf("KILL %d", id))
						killed++
					}
				case !down && r.Total.Seq == 0:
					down = true
					s.Kill(t)
					s.Launch(t)
				default:
					if after += x.Operations(); x.Threads == 3 && after > 100 {
						cancel()
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if n := r.Total.Errors["lost"]; n < 5 || r.Total.Reconnects < 5 {
			t.Errorf("%d connections lost, %d made again; 2 were killed and 3 crashed", n, r.Total.Reconnects)
		}
		if after == 0 {
			t.Error("no operation after the crash")
		}
	})
}

func TestServerThatStaysAwayEndsTheRun(t *testing.T) {
	for _, driver := range []bool{false, true} {
		s := servers.Start(t, "mariadb")
		tg := open(t, s)
		prepared(t, tg, nil)
		within(t, 60*time.Second, "a run without a server", func(ctx context.Context) {
			r, err := on(tg).Run(ctx, load.Config{
				Driver: driver, Workload: workload.PointSelect{}, Threads: 2,
				Reconnect: time.Second,
			}, func(x loadresult.Tick) {
				if x.Seq == 0 {
					s.Kill(t)
				}
			})
			if err == nil || r.State != loadresult.Failed || r.Total.Errors["lost"] == 0 || r.Total.Operations() == 0 ||
				!strings.Contains(err.Error(), "connection lost") {
				t.Errorf("%s, %d operations, errors %v, %v", r.State, r.Total.Operations(), r.Total.Errors, err)
			}
		})
	}
}

// TestStoppedRunDoesNotWaitForLongStatements stops a run whose statements would take an hour, and looks whether the
// server was told.
func TestStoppedRunDoesNotWaitForLongStatements(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x")
		db := s.DB(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		within(t, 30*time.Second, "a stopped run", func(context.Context) {
			r, err := on(tg).Run(ctx, load.Config{Driver: driver, Workload: texts("SELECT SLEEP(3600)"), Threads: 2},
				func(x loadresult.Tick) { cancel() })
			if err != nil || r.State != loadresult.Stopped || r.Total.Operations() != 0 || r.Total.Queries() != 0 {
				t.Errorf("%s, %d operations, %d queries, %v", r.State, r.Total.Operations(), r.Total.Queries(), err)
			}
		})
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			var n int
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(3600)'").
				Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d statements go on in the server", n)
			}
		}
	})
}
