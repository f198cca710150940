package sources

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// begin opens a session and executes statements in it.
func begin(t *testing.T, s *pgserver.Server, statements ...string) *pgx.Conn {
	t.Helper()
	c := s.Conn(t, "postgres")
	for _, q := range statements {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// wait executes a statement that waits, in a session of its own which ends with the test.
func wait(t *testing.T, s *pgserver.Server, statements ...string) (pid uint64) {
	t.Helper()
	c := begin(t, s, statements[:len(statements)-1]...)
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		c.Exec(t.Context(), statements[len(statements)-1]) // it is cancelled, or ends when it may
	}()
	return pidOf(c)
}

func pidOf(c *pgx.Conn) uint64 { return uint64(c.PgConn().PID()) }

// until reads until the condition holds.
func until(t *testing.T, sc *scrape.Scraper, what string, cond func(reading.Reading) bool) reading.Reading {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		r := sc.Once(t.Context())
		if r.State != nil && cond(r) {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("never: %s; %+v, sources %+v", what, r.State, r.Sources)
		}
	}
}

func session(r reading.Reading, id uint64) (x state.Session, ok bool) {
	for _, x := range r.State.Sessions {
		if x.ID == id {
			return x, true
		}
	}
	return x, false
}

func TestSessions(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE t (a int)")
	idle := begin(t, s, "SELECT 'seen'")
	open1 := begin(t, s, "BEGIN", "INSERT INTO t VALUES (1)")
	reads := begin(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1 FROM t")
	runs := wait(t, s, "SELECT pg_sleep(600), 'hidden' AS password")
	sc := scraper(t, open(t, s, "postgres"), "processlist")
	r := until(t, sc, "the statement runs", func(r reading.Reading) bool {
		x, ok := session(r, runs)
		return ok && x.Command == "Query"
	})
	if _, there := session(r, pidOf(idle)); there || r.State.Connections.Or(0) != 4 || r.State.Idle.Or(0) != 1 {
		t.Errorf("%+v", r.State)
	}
	x, _ := session(r, runs)
	if strings.Contains(x.SQL, "hidden") || !strings.Contains(x.SQL, "pg_sleep") || len(x.ClassID) != 32 ||
		x.User != "postgres" || x.DB != "postgres" || x.Host != "[local]" || !strings.Contains(x.Phase, "PgSleep") {
		t.Errorf("%+v", x)
	}
	x, _ = session(r, pidOf(open1))
	if x.Command != "Sleep" || x.Phase != "idle in transaction" || x.SQL != "" || !strings.Contains(x.Last, "INSERT") {
		t.Errorf("%+v", x)
	}
	readOnly := map[uint64]bool{}
	for _, x := range r.State.Transactions {
		readOnly[x.Session] = x.ReadOnly
		if x.Phase != "RUNNING" || x.Seconds < 0 {
			t.Errorf("%+v", x)
		}
	}
	if len(readOnly) != 3 || readOnly[pidOf(open1)] || !readOnly[pidOf(reads)] || !readOnly[runs] {
		t.Errorf("%+v", r.State.Transactions)
	}
	if v := value(t, r, "dyno_sessions"); v != 4 {
		t.Errorf("%v sessions", v)
	}
	if v := value(t, r, "dyno_sessions_running"); v != 1 {
		t.Errorf("%v run", v)
	}
	for state, want := range map[string]float64{"idle": 1, "active": 1, "idle in transaction": 2} {
		if v := value(t, r, "pg_stat_activity_count", "state", state, "datname", "postgres"); v != want {
			t.Errorf("%v %s", v, state)
		}
	}
	if v := value(t, r, "dyno_transactions", "state", "running"); v != 3 {
		t.Errorf("%v transactions", v)
	}
	if _, err := s.Conn(t, "postgres").Exec(t.Context(), "SELECT pg_cancel_backend($1)", int32(runs)); err != nil {
		t.Fatal(err)
	}
}

func TestSessionsDenied(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE ROLE \"a b\" LOGIN", "CREATE EXTENSION pg_stat_statements")
	sc := scraper(t, open(t, s, "a b"))
	r := sc.Once(t.Context())
	for _, name := range []source.Name{source.Processlist, source.Locks, source.Replication} {
		x := sourceOf(t, r, name)
		if x.State != source.Denied || x.Fix != `GRANT pg_monitor TO "a b"` || x.Reason == "" {
			t.Errorf("%+v", x)
		}
	}
	if r.State != nil && r.State.Connections.OK() {
		t.Errorf("sessions are counted: %+v", r.State)
	}
	if x := sourceOf(t, r, source.Database); x.State != source.OK {
		t.Errorf("%+v", x)
	}
	s.Exec(t, "postgres", `GRANT pg_monitor TO "a b"`)
	r = sc.Once(t.Context())
	for _, x := range r.Sources {
		if x.State != source.OK && x.Name != source.Cgroup {
			t.Errorf("with the fix: %+v", x)
		}
	}
	s.Exec(t, "postgres", "ALTER SYSTEM SET track_activities = off", "SELECT pg_reload_conf()")
	wait(t, s, "SELECT pg_sleep(1)")
	r = until(t, sc, "off is seen", func(r reading.Reading) bool {
		return sourceOf(t, r, source.Processlist).State == source.Missing
	})
	if _, ok := find(r, "dyno_sessions_running"); ok {
		t.Error("that nobody runs anything is not known")
	}
}
