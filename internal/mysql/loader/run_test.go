package loader

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestCountsEqualTheServers compares every count of a clean run with the server's own counters.
func TestCountsEqualTheServers(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		o := map[string]string{"tables": "2", "table-size": "500"}
		prepared(t, tg, o)
		c := counters{s.DB(t, "")}
		c.db.SetMaxOpenConns(1)
		f := func(w workload.Workload, mode load.PSMode, more map[string]string) {
			t.Helper()
			opts := map[string]string{}
			for _, m := range []map[string]string{o, more} {
				for k, v := range m {
					opts[k] = v
				}
			}
			const threads, tables = 3, 2
			before, _ := c.settled(t)
			var ticks []loadresult.Tick
			r, err := on(tg).Run(t.Context(), load.Config{
				Driver: driver, Workload: w, Options: opts, Threads: threads,
				Events: 200, PSMode: mode, Statements: true,
			}, func(x loadresult.Tick) { ticks = append(ticks, x) })
			if err != nil {
				t.Fatal(err)
			}
			after, looks := c.settled(t)
			d := func(name string) uint64 { return after[name] - before[name] }
			if r.State != loadresult.Done || r.Total.Operations() != 200 {
				t.Errorf("%s %s: %s after %d operations, want done after 200", w.Name(), mode,
					r.State, r.Total.Operations())
			}
			if m := loadresult.Merged(ticks); m.Operations() != 200 || m.Queries() != r.Total.Queries() {
				t.Errorf("ticks hold %d operations and %d queries, the run %d and %d", m.Operations(), m.Queries(),
					200, r.Total.Queries())
			}
			var op loadresult.Op
			for _, x := range r.Total.Ops {
				op.Reads, op.Writes, op.Others = op.Reads+x.Reads, op.Writes+x.Writes, op.Others+x.Others
			}
			lost := r.Total.ErrorCount()
			if lost > 0 {
				t.Logf("%d deadlocks, retried", lost)
			}
			// A session of the driver asks who it is when it logs in; every session sets its character set and says
			// good-bye, which the servers count as a question; every table is asked for its largest id.
			asks := uint64(0)
			if driver {
				asks = threads
			}
			if want := map[bool]string{false: "loops", true: "driver"}[driver]; r.Path != want {
				t.Errorf("the path is %q, want %q", r.Path, want)
			}
			eq := func(what string, got, want uint64) {
				t.Helper()
				if got != want {
					t.Errorf("%s %s: %s: Dyno counted %d, the server %d", w.Name(), mode, what, got, want)
				}
			}
			eq("reads", op.Reads, d("Com_select")-asks-tables-looks)
			eq("writes", op.Writes, d("Com_update")+d("Com_delete")+d("Com_insert"))
			eq("others", op.Others, d("Com_begin")+d("Com_commit")+d("Com_rollback"))
			var timed uint64
			for _, x := range r.Total.Statements {
				timed += x.Latency.Count()
			}
			eq("statements timed", timed, d("Com_select")-asks-tables-looks+d("Com_update")+d("Com_delete")+
				d("Com_insert")+d("Com_begin")+d("Com_commit"))
			eq("queries", r.Total.Queries()+asks+2*threads+tables+looks+1, d("Questions"))
			if mode == load.Disable {
				eq("executions of prepared statements", 0, d("Com_stmt_execute"))
			} else {
				eq("executions of prepared statements", op.Reads+op.Writes, d("Com_stmt_execute"))
			}
		}
		f(workload.PointSelect{}, load.Auto, nil)
		f(workload.PointSelect{}, load.Disable, nil)
		f(workload.ReadOnly{}, load.Auto, nil)
		f(workload.ReadWrite{}, load.Auto, nil)
		f(workload.ReadWrite{}, load.Disable, nil)
		f(workload.ReadOnly{}, load.Auto, map[string]string{"skip-trx": "on"})
	})
}

// counters reads a server's counters on a connection of its own.
type counters struct{ db *sql.DB }

// settled waits until no session of a load is left and reads the counters. It tells how many times it had to look.
func (c counters) settled(t *testing.T) (m map[string]uint64, looks uint64) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var open int
		if err := c.db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'sbtest'").
			Scan(&open); err != nil {
			t.Fatal(err)
		}
		looks++
		if open == 0 {
			return c.read(t), looks
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions are still there", open)
		}
	}
}

func (c counters) read(t *testing.T) map[string]uint64 {
	t.Helper()
	rows, err := c.db.Query("SHOW GLOBAL STATUS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	m := map[string]uint64{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			m[k] = n
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTicksFollowEachOther(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		prepared(t, tg, nil)
		var ticks []loadresult.Tick
		r, err := on(tg).Run(t.Context(), load.Config{
			Driver: driver, Workload: workload.PointSelect{}, Threads: 2,
			Time: 3 * time.Second,
		}, func(x loadresult.Tick) { ticks = append(ticks, x) })
		if err != nil {
			t.Fatal(err)
		}
		if r.State != loadresult.Done || r.Elapsed < 3*time.Second {
			t.Errorf("state %s after %v, want done after 3 s", r.State, r.Elapsed)
		}
		at := r.Started
		var sum time.Duration
		for i, x := range ticks {
			if x.Seq != i || !x.At.Equal(at) || x.Length <= 0 || x.Threads != 2 {
				t.Errorf("tick %d: seq %d at %v for %v with %d threads, want it at %v with 2", i, x.Seq, x.At,
					x.Length, x.Threads, at)
			}
			if x.Operations() == 0 || x.ClientCPU <= 0 {
				t.Errorf("tick %d: %d operations, %v of CPU", i, x.Operations(), x.ClientCPU)
			}
			at, sum = at.Add(x.Length), sum+x.Length
		}
		if sum != r.Elapsed || r.Total.Length != sum || r.Total.Threads != 2 {
			t.Errorf("ticks last %v, the run %v, its total %v with %d threads", sum, r.Elapsed,
				r.Total.Length, r.Total.Threads)
		}
		if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "special") {
			t.Errorf("warnings %q do not state the distribution", r.Warnings)
		}
		if r.Options["rand-seed"] == "0" || r.Options["threads"] != "2" || r.Options["time"] != "3" ||
			r.Options["table-size"] != "10000" {
			t.Errorf("options %v", r.Options)
		}
	})
}

func TestCancelStopsCleanly(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		prepared(t, tg, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var r loadresult.Run
		var err error
		within(t, 20*time.Second, "a run that was stopped after its first tick", func(context.Context) {
			r, err = on(tg).Run(ctx, load.Config{Driver: driver, Workload: workload.ReadWrite{}, Threads: 2},
				func(loadresult.Tick) { cancel() })
		})
		if err != nil || r.State != loadresult.Stopped || r.Total.Operations() == 0 || r.Total.Errors["lost"] != 0 {
			t.Errorf("%s, %d operations, errors %v, %v; want a stopped run with figures", r.State,
				r.Total.Operations(), r.Total.Errors, err)
		}
	})
}

// TestNoOtherSessionIsKilled: a number that is another account's session by now ends nothing.
func TestNoOtherSessionIsKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "CREATE USER eve@localhost")
		there := func(of *target.Target) bool {
			t.Helper()
			x, err := of.Session(t.Context(), target.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			kill(t.Context(), tg, x.ID())
			_, err = x.Exec(t.Context(), "DO 1")
			return err == nil
		}
		if !there(openAs(t, s, "eve")) {
			t.Error("another account's session was ended")
		}
		if there(tg) {
			t.Error("a session of the load's account was not ended")
		}
	})
}
