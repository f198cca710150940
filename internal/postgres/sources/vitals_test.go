package sources

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestVitalsAreMadeOfWhatIsRead holds the names of samples and of headline figures together.
func TestVitalsAreMadeOfWhatIsRead(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			s := pgserver.Start(t, version, "autovacuum=off")
			s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements", "CREATE TABLE t (a int)")
			sc := scraper(t, open(t, s, "postgres"))
			a := slices.Clone(sc.Once(t.Context()).Samples)
			began := time.Now()
			s.Exec(t, "postgres", "INSERT INTO t SELECT generate_series(1, 5000)", "UPDATE t SET a = a + 1",
				"SELECT count(*) FROM t", "SELECT pg_stat_force_next_flush()")
			b := sc.Once(t.Context()).Samples
			seconds := time.Since(began).Seconds()
			got := map[string]float64{}
			for _, v := range state.Between(Headline.Take(a), Headline.Take(b), seconds) {
				got[v.Name] = v.Value
			}
			for _, name := range []string{
				state.QPS, state.TPS, state.Uptime, state.Running, state.Connected, state.ServerCPU,
				state.HostCPUBusy, state.HostCPUs, state.MemAvailable, state.ServerRSS, state.RowsRead,
				state.RowsWritten, state.PoolMisses, state.PoolRequests, state.RedoBytes, state.Checkpoint,
				state.RowLockWaiting, state.TmpDisk, state.Aborted, state.ScrapeServer,
			} {
				if _, ok := got[name]; !ok {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range []string{
				state.SlowQueries, state.Latency, state.PoolDirty, state.PoolFree, state.History, state.RowLockWaits,
				state.BytesIn, state.BytesOut, state.ReplicaLag,
			} {
				if v, ok := got[name]; ok {
					t.Errorf("%s is %v, and has no meaning here", name, v)
				}
			}
			if got[state.RowsWritten] < 9000/seconds || got[state.QPS] < 0.9/seconds ||
				got[state.RedoBytes] < 1e5/seconds || got[state.PoolRequests] < got[state.PoolMisses] ||
				got[state.RowsRead] < 9000/seconds {
				t.Errorf("%v in %v s", got, seconds)
			}
		})
	}
}

// TestDynoIsLeftOut: a server on which nobody but Dyno does anything has no statements, transactions and sessions.
func TestDynoIsLeftOut(t *testing.T) {
	s := pgserver.Start(t, "17", "autovacuum=off")
	s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements")
	x := open(t, s, "postgres")
	gone(t, s, "none")
	sc := scraper(t, x, "database", "processlist", "locks", "statement_totals", "variables", "checkpoints",
		"replication")
	sc.Once(t.Context())
	first := sc.Once(t.Context())
	figures := func(samples []metric.Sample) string {
		var out []string
		for _, x := range samples {
			if slices.Contains([]string{
				"dyno_client_transactions_total", "dyno_client_statements_total", "dyno_sessions",
				"dyno_sessions_running",
			}, x.Name) {
				out = append(out, fmt.Sprint(x.Name, " ", x.Value))
			}
		}
		return fmt.Sprint(out)
	}
	want := figures(first.Samples)
	for range 3 {
		r := sc.Once(t.Context())
		if got := figures(r.Samples); got != want {
			t.Errorf("%s, before %s", got, want)
		}
		if len(r.State.Sessions) > 0 || r.State.Connections.Or(-1) != 0 || len(r.State.Transactions) > 0 {
			t.Errorf("%+v", r.State)
		}
	}
	s.Exec(t, "postgres", "SELECT 1", "SELECT 2", "SELECT pg_stat_force_next_flush()")
	r := sc.Once(t.Context())
	before, _ := find(first, "dyno_client_statements_total")
	after, _ := find(r, "dyno_client_statements_total")
	if after-before != 3 {
		t.Errorf("3 statements count as %v", after-before)
	}
	before, _ = find(first, "dyno_client_transactions_total")
	after, _ = find(r, "dyno_client_transactions_total")
	if n := after - before; n < 3 || n > 6 { // and the login
		t.Errorf("3 statements and a login count as %v transactions", n)
	}
}

// TestRestartIsAnEvent: the figures of before and after belong to two lives of the server.
func TestRestartIsAnEvent(t *testing.T) {
	s := pgserver.Start(t, "17")
	sc := scraper(t, open(t, s, "postgres"), string(source.Database))
	sc.Once(t.Context())
	s.Stop(t)
	r := sc.Once(t.Context())
	if r.State == nil || r.State.Up || r.State.Reason == "" || sourceOf(t, r, source.Database).State != source.Failed {
		t.Errorf("while it is down: %+v, %+v", r.State, r.Sources)
	}
	s.Launch(t)
	r = sc.Once(t.Context())
	restarts := 0
	for _, e := range r.Events {
		if e.Kind == event.Restart {
			restarts++
		}
	}
	if restarts != 1 {
		t.Errorf("events %+v", r.Events)
	}
}

// TestLostFiguresAreNotTransactions: when a database's figures go, neither Dyno's own transactions nor rows appear.
func TestLostFiguresAreNotTransactions(t *testing.T) {
	s := pgserver.Start(t, "17", "autovacuum=off")
	s.Exec(t, "postgres", "CREATE DATABASE a", "CREATE DATABASE b")
	work := make([]string, 300)
	for i := range work {
		work[i] = "SELECT count(*) FROM pg_class"
	}
	for _, database := range []string{"a", "b"} {
		s.Exec(t, database, append(work, "SELECT pg_stat_force_next_flush()")...)
	}
	x := open(t, s, "postgres")
	gone(t, s, "none")
	sc := scraper(t, x, string(source.Database))
	first := sc.Once(t.Context())
	for range 30 {
		sc.Once(t.Context())
	}
	f := func(what, database string, statements ...string) {
		t.Helper()
		s.Exec(t, database, append(statements, "SELECT pg_stat_force_next_flush()")...)
		gone(t, s, conn.Application)
		lost := sc.Once(t.Context())
		for _, name := range []string{"dyno_client_transactions_total", metric.RowsReadTotal} {
			if v, ok := find(lost, name); ok {
				t.Errorf("%s: %s is %v in the round itself", what, name, v)
			}
		}
		r := sc.Once(t.Context())
		const name = "dyno_client_transactions_total"
		if n := value(t, r, name) - value(t, first, name); n > 10 {
			t.Errorf("%s: %v transactions", what, n)
		}
		if value(t, r, metric.RowsReadTotal) < value(t, first, metric.RowsReadTotal) {
			t.Errorf("%s: the rows fall", what)
		}
	}
	f("drop", "postgres", "DROP DATABASE a")
	f("reset", "b", "SELECT pg_stat_reset()")
	f("reset of little", "b", "SELECT pg_stat_reset()") // more was counted since than it had
}

// gone waits until no session of clients is left, but those of an application. Its own is one of them. What a session
// did is counted, at the latest, when it ends.
func gone(t *testing.T, s *pgserver.Server, but string) {
	t.Helper()
	c := s.Conn(t, "postgres")
	pid := int(c.PgConn().PID())
	for end := time.Now().Add(time.Minute); ; {
		n := 1
		if !c.IsClosed() {
			err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE backend_type = "+
				"'client backend' AND pid <> pg_backend_pid() AND application_name <> $1", but).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				c.Close(t.Context())
			}
		} else if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions do not end", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestManyDatabases: what there is no room for is said, and the rows are those of the same databases each time.
func TestManyDatabases(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE DATABASE a")
	x := open(t, s, "postgres")
	l := newLink(x)
	defer l.Close()
	f := func(most int, want, problem string) {
		t.Helper()
		d := newDatabase(l, func() uint64 { return 0 }, x.Facts(), most)
		var got []string
		err := d.Scrape(t.Context(), 1, func(m metric.Sample) {
			if m.Name == "pg_stat_database_numbackends" {
				got = append(got, m.Labels.Get("datname"))
			}
		})
		var p *scrape.Problem
		if fmt.Sprint(got) != want || errors.As(err, &p) != (problem != "") ||
			p != nil && (!p.Partial || !strings.Contains(p.Reason, problem)) {
			t.Errorf("%d: %q, %v", most, got, err)
		}
	}
	f(1000, "[ template1 template0 postgres a]", "")
	f(5, "[ template1 template0 postgres a]", "")
	s.Exec(t, "postgres", "ALTER DATABASE template1 CONNECTION LIMIT 9") // its row is another one now
	f(4, "[ template1 template0 postgres]", "without 1 of them")
}
