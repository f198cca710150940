package sources

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestLocks: each kind of wait with who is in its way.
func TestLocks(t *testing.T) {
	for _, version := range []string{"15", "18"} {
		t.Run(version, func(t *testing.T) {
			s := pgserver.Start(t, version, "max_prepared_transactions=2")
			s.Exec(t, "postgres", "CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 1), (2, 2)",
				"CREATE TABLE d (a int)")
			holder := begin(t, s, "BEGIN", "UPDATE t SET b = 2 WHERE a = 1")
			prepared := begin(t, s, "BEGIN", "UPDATE t SET b = 2 WHERE a = 2", "PREPARE TRANSACTION 'x'")
			reader := begin(t, s, "BEGIN", "SELECT * FROM d")
			advisory := begin(t, s, "SELECT pg_advisory_lock(7)")
			row := wait(t, s, "UPDATE t SET b = 3 WHERE a = 1")
			orphan := wait(t, s, "UPDATE t SET b = 3 WHERE a = 2")
			ddl := wait(t, s, "ALTER TABLE d ADD COLUMN b int")
			user := wait(t, s, "SELECT pg_advisory_lock(7)")
			sc := scraper(t, open(t, s, "postgres"), "processlist", "locks")
			r := until(t, sc, "four wait", func(r reading.Reading) bool { return len(r.State.Waits) >= 4 })
			by := map[uint64]state.Wait{}
			for _, w := range r.State.Waits {
				by[w.Waiter] = w
			}
			f := func(waiter uint64, kind state.WaitKind, blocker uint64, object string) {
				t.Helper()
				w := by[waiter]
				if w.Kind != kind || w.Blocker.Or(0) != blocker || w.Object != object || !w.Seconds.OK() ||
					w.Mode == "" || (w.Why == "") != w.Blocker.OK() || w.Blocker.OK() && w.Held == "" {
					t.Errorf("%+v, want %s behind %d for %s", w, kind, blocker, object)
				}
			}
			f(row, state.RowLock, pidOf(holder), "public.t")
			f(orphan, state.RowLock, 0, "public.t")
			f(ddl, state.MetadataLock, pidOf(reader), "public.d")
			f(user, state.UserLock, pidOf(advisory), "")
			if _, ok := session(r, pidOf(advisory)); !ok {
				t.Error("the idle session that holds the advisory lock is not shown")
			}
			for kind, want := range map[string]float64{"row": 2, "metadata": 1, "user": 1, "table": 0} {
				if v := value(t, r, "dyno_lock_waiters", "kind", kind); v != want {
					t.Errorf("%v wait for %s", v, kind)
				}
			}
			if v := value(t, r, "dyno_lock_waiters_unexplained"); v != 1 {
				t.Errorf("%v unexplained", v)
			}
			if v := value(t, r, "dyno_transactions", "state", "lock_wait"); v != 4 {
				t.Errorf("%v transactions wait", v)
			}
			if _, err := prepared.Exec(t.Context(), "ROLLBACK PREPARED 'x'"); err != nil {
				t.Error(err)
			}
			if _, err := advisory.Exec(t.Context(), "SELECT pg_advisory_unlock(7)"); err != nil {
				t.Error(err)
			}
			for _, c := range []*pgx.Conn{holder, reader} {
				if _, err := c.Exec(t.Context(), "COMMIT"); err != nil {
					t.Error(err)
				}
			}
			r = until(t, sc, "nobody waits", func(r reading.Reading) bool { return len(r.State.Waits) == 0 })
			if v := value(t, r, "dyno_lock_waiters", "kind", "row"); v != 0 {
				t.Errorf("%v still wait", v)
			}
		})
	}
}

// TestDeadlocksAreCounted: what a deadlock was is not known, that there was one is; those before the first reading, and
// the figures that go with a database, are none.
func TestDeadlocksAreCounted(t *testing.T) {
	s := pgserver.Start(t, "17", "deadlock_timeout=10ms", "autovacuum=off")
	s.Exec(t, "postgres", "CREATE TABLE t (a int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
	deadlock := func() {
		t.Helper()
		a := begin(t, s, "BEGIN", "UPDATE t SET b = 2 WHERE a = 1")
		b := begin(t, s, "BEGIN", "UPDATE t SET b = 2 WHERE a = 2")
		errs := make(chan error, 1)
		go func() {
			_, err := a.Exec(t.Context(), "UPDATE t SET b = 3 WHERE a = 2")
			errs <- err
		}()
		_, err := b.Exec(t.Context(), "UPDATE t SET b = 3 WHERE a = 1")
		if other := <-errs; (err == nil) == (other == nil) {
			t.Fatalf("no deadlock: %v, %v", err, other)
		}
		for _, c := range []*pgx.Conn{a, b} {
			if _, err := c.Exec(t.Context(), "ROLLBACK; SELECT pg_stat_force_next_flush()"); err != nil {
				t.Fatal(err)
			}
			c.Close(t.Context())
		}
		gone(t, s, conn.Application)
	}
	deadlock()
	sc := scraper(t, open(t, s, "postgres"), string(source.Database))
	count := func() (n uint64) {
		for range 2 {
			for _, m := range sc.Once(t.Context()).Deadlocks.Missed {
				n += m.Count
				if m.Why == "" || !m.From.Before(m.To) {
					t.Errorf("%+v", m)
				}
			}
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d before anybody looked", n)
	}
	deadlock()
	deadlock()
	if n := count(); n != 2 {
		t.Errorf("%d of 2", n)
	}
	s.Exec(t, "postgres", "SELECT pg_stat_reset()", "SELECT pg_stat_force_next_flush()")
	if n := count(); n != 0 {
		t.Errorf("%d after a reset", n)
	}
}
