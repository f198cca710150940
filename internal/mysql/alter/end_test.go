package alter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/test/servers"
)

// builds takes a moment to build, so that the session that watches sees it at work.
var builds = Alteration{Table: table, SQL: "ADD INDEX `k 1` (`a`, `s`), ADD INDEX `k 2` (`s`, `a`), ADD INDEX `k 3` " +
	"(`s`(20), `j`(20)), ADD INDEX `k 4` (`j`(40), `s`)", LockWait: time.Second}

// holder is a transaction that has the table, from the moment that the server builds to when it is let go.
type holder struct {
	t      *testing.T
	db     *sql.DB
	builds bool
	tx     *sql.Tx
	id     uint64
}

// begin is called after each look at the change. It takes the table once a look came after the server was seen to
// build.
func (h *holder) begin(p progress.Progress) {
	if h.tx != nil || p.End {
		return
	}
	var state string
	err := h.db.QueryRow(
		"SELECT STATE FROM information_schema.PROCESSLIST WHERE INFO LIKE '/* dyno:alter%ALTER TABLE%'").Scan(&state)
	looked := h.builds
	if h.builds = err == nil && state == "altering table"; !h.builds || !looked {
		return
	}
	tx, err := h.db.Begin()
	if err == nil {
		err = tx.QueryRow("SELECT CONNECTION_ID() FROM " + ddl.Name(table) + " LIMIT 1").Scan(&h.id)
	}
	if err != nil {
		h.t.Errorf("begin to hold the table: %v", err)
	}
	h.tx = tx
}

// held returns once the change has waited for the holder for longer than d by the server's clock.
func (h *holder) held(ctx context.Context, d time.Duration) {
	for from := 0.0; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		var now float64
		err := h.db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP(SYSDATE(3)) FROM information_schema.PROCESSLIST"+
			" WHERE INFO LIKE '/* dyno:alter%ALTER TABLE%' AND STATE = 'Waiting for table metadata lock'").Scan(&now)
		switch {
		case err != nil: // it does not wait
			from = 0
		case from == 0:
			from = now
		case now-from > d.Seconds():
			return
		}
	}
}

// TestTheEndOfABuild has a transaction take the table while the server builds. What was built is not thrown away for a
// short wait; when it is lost, that is reported, and only what was built quickly is built again.
func TestTheEndOfABuild(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 1<<15, "performance_schema=ON",
				"performance_schema_instrument=wait/lock/metadata/sql/mdl=ON",
				"performance_schema_consumer_events_statements_current=ON")
			back := func() {
				t.Helper()
				s.Exec(t, "ALTER TABLE "+ddl.Name(table)+" DROP INDEX `k 1`, DROP INDEX `k 2`, DROP INDEX `k 3`, DROP "+
					"INDEX `k 4`")
			}
			// native makes the change while somebody takes the table during the build. hold lets it go; ctx ends with
			// the change. It returns how many ALTER TABLE were sent.
			native := func(c Alteration, hold func(ctx context.Context, h *holder, notes []string)) (
				notes []string, alters uint64, h *holder, err error,
			) {
				t.Helper()
				for range 20 { // a server may have built before anybody looked
					h = &holder{t: t, db: s.DB(t, "")}
					before := s.Status(t, "Com_alter_table")
					ctx, cancel := context.WithCancel(t.Context())
					var wg sync.WaitGroup
					var once sync.Once
					notes = nil
					err = Native(t.Context(), x, c, func(p progress.Progress) {
						if h.begin(p); h.tx != nil {
							once.Do(func() { wg.Go(func() { hold(ctx, h, nil) }) })
						}
					}, func(n string) {
						notes = append(notes, n)
						hold(ctx, h, notes)
					})
					alters = s.Status(t, "Com_alter_table") - before
					cancel()
					wg.Wait()
					if h.tx != nil {
						h.tx.Rollback()
					}
					if err != nil || h.tx != nil && len(notes) > 0 {
						return notes, alters, h, err
					}
					back()
					s.Exec(t, "INSERT INTO "+ddl.Name(table)+" (a, s, j) SELECT a, s, j FROM "+ddl.Name(table)+
						" LIMIT 65536")
				}
				t.Fatal("the server is never seen at work")
				return nil, 0, nil, nil
			}
			holds := func(h *holder) string { return fmt.Sprintf("held by thread %d (root@localhost)", h.id) }

			// Held for longer than the lock is waited for at the beginning.
			notes, alters, h, err := native(builds, func(ctx context.Context, h *holder, notes []string) {
				if notes == nil {
					h.held(ctx, 2*builds.LockWait)
					h.tx.Rollback()
				}
			})
			if err != nil || alters != 1 || indexes(t, s) != 5 {
				t.Fatalf("held for longer: %d ALTER TABLE, %v, %q", alters, err, notes)
			}
			if said := strings.Join(notes, "\n"); len(notes) != 1 ||
				!strings.Contains(said, "at its end the change waits up to 1m0s") ||
				!strings.Contains(said, holds(h)) ||
				!strings.Contains(said, "statement: select connection_id() from") {
				t.Errorf("the holder is not reported: %q", notes)
			}
			back()

			// Never let go, and more was built than is built again without being asked for.
			long := builds
			long.last, long.long = time.Second, time.Nanosecond
			notes, alters, h, err = native(long, func(context.Context, *holder, []string) {})
			if WhyOf(err) != Locked || BuiltOf(err) <= 0 || alters != 1 || indexes(t, s) != 1 {
				t.Errorf("a long build: %d ALTER TABLE, built %v, %v, %q", alters, BuiltOf(err), err, notes)
			}
			if err == nil || !strings.Contains(err.Error(), "threw away what it had built in") ||
				!strings.Contains(err.Error(), holds(h)) ||
				!strings.Contains(target.HintOf(err), "there is no automatic retry") {
				t.Errorf("a long build: %v, %s", err, target.HintOf(err))
			}

			// Let go after what was built quickly was thrown away.
			short := builds
			short.last = time.Second
			notes, alters, _, err = native(short, func(_ context.Context, h *holder, notes []string) {
				if len(notes) > 0 && strings.Contains(notes[len(notes)-1], "attempt 1 of 10: the server threw away") {
					h.tx.Rollback()
				}
			})
			if err != nil || alters != 2 || indexes(t, s) != 5 {
				t.Errorf("a short build: %d ALTER TABLE, %v, %q", alters, err, notes)
			}
		})
	}
}

// TestCourse has the states of a session, one look each 100 ms, and whether its wait for a lock is one at the
// beginning.
func TestCourse(t *testing.T) {
	const mdl = "Waiting for table metadata lock"
	f := func(states string, begun bool, waits, built time.Duration) {
		t.Helper()
		now := time.Unix(1000, 0)
		x := course{sent: now}
		for s := range strings.SplitSeq(states, ",") {
			if s == "nothing is seen for a minute" {
				now = now.Add(time.Minute)
				continue
			}
			now = now.Add(firstPoll)
			s, progress := strings.CutSuffix(s, "+")
			x.see(s, map[bool]float64{true: 1}[progress], now)
		}
		w := time.Duration(0)
		if !x.waits.IsZero() {
			w = now.Sub(x.waits)
		}
		if x.begun.IsZero() == begun || w != waits || begun && x.built(now, time.Hour) != built {
			t.Errorf("%s: begun %v, waits for %v, built for %v", states, !x.begun.IsZero(), w, x.built(now, time.Hour))
		}
	}
	f("starting,Opening tables,"+mdl+","+mdl, false, firstPoll, 0)
	f("Waiting for backup lock,"+mdl, false, firstPoll, 0)
	f(mdl+",,"+mdl, false, 0, 0)
	f(mdl+",preparing for alter table,altering table,altering table", true, 0, 2*firstPoll)
	f("altering table,altering table,"+mdl+","+mdl, true, firstPoll, 2*firstPoll)
	f("copy to tmp table,"+mdl, true, 0, firstPoll)
	f("waiting for handler commit", true, 0, 0)
	f(mdl+"+,"+mdl+"+", true, firstPoll, 0)
	f(mdl+",nothing is seen for a minute,"+mdl, true, time.Minute+firstPoll, 0)
	f("Opening tables,nothing is seen for a minute,"+mdl, true, 0, time.Minute+firstPoll)
}

// TestKillLooksFirst: the number of a session may be somebody else's, on the server that answers the one that kills.
func TestKillLooksFirst(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor, 1)
			conn, err := s.DB(t, "").Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var id uint64
			if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			run := func(comment string) (ended chan error) {
				ended = make(chan error, 1)
				go func() {
					var n int
					err := conn.QueryRowContext(t.Context(), comment+"SELECT SLEEP(1000) FROM (SELECT 1 UNION SELECT "+
						"2) x").Scan(&n)
					if err == nil && n == 1 {
						err = errors.New("SLEEP was interrupted")
					}
					ended <- err
				}()
				eventually(t, "it sleeps", func() bool {
					var n int
					if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? "+
						"AND INFO LIKE ?", id, comment+"SELECT SLEEP%").Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n == 1
				})
				return ended
			}
			w := &worker{t: x, note: func(n string) { t.Error(n) }}
			defer w.unwatch()
			ours := "/* dyno:alter 0123 */ "
			for _, comment := range []string{"", "/* dyno:alter 4567 */ ", "/* dyno:alter */ "} {
				ended, before := run(comment), s.Status(t, "Com_kill")
				w.kill("0123", id)
				if n := s.Status(t, "Com_kill") - before; n != 0 {
					t.Errorf("%q: %d KILL were sent", comment, n)
				}
				s.Exec(t, fmt.Sprintf("KILL QUERY %d", id))
				<-ended
			}
			ended := run(ours)
			w.kill("0123", id)
			if err := <-ended; err == nil {
				t.Error("our own was not killed")
			}
			w.unwatch() // lost: it comes back
			ended = run(ours)
			w.kill("0123", id)
			if err := <-ended; err == nil {
				t.Error("our own was not killed by a new session")
			}
		})
	}
}
