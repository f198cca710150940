package sources

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

// crew are the sessions of a test; each is one connection.
type crew struct {
	t    *testing.T
	db   *sql.DB
	wait []chan error
}

type member struct {
	*sql.Conn
	id uint64
}

func (c *crew) session() member {
	c.t.Helper()
	conn, err := c.db.Conn(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	m := member{Conn: conn}
	if err := conn.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&m.id); err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *crew) do(m member, qs ...string) {
	c.t.Helper()
	for _, q := range qs {
		if _, err := m.ExecContext(context.Background(), q); err != nil {
			c.t.Fatalf("%s: %v", q, err)
		}
	}
}

// later starts a statement that will have to wait.
func (c *crew) later(m member, q string) {
	done := make(chan error, 1)
	c.wait = append(c.wait, done)
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel) // before the connection is closed, which would wait for it
	go func() { _, err := m.ExecContext(ctx, q); done <- err }()
}

// end waits for all that was started.
func (c *crew) end() {
	c.t.Helper()
	for _, d := range c.wait {
		select {
		case err := <-d:
			if err != nil {
				c.t.Error(err)
			}
		case <-time.After(time.Minute):
			c.t.Fatal("a session waits on")
		}
	}
	c.wait = nil
}

// until reads rounds until what they show satisfies f, and returns the state. It leaves time between them: InnoDB shows
// the transactions of an earlier look to everybody until nobody has looked for 100 ms.
func until(t *testing.T, sc *watched, what string, f func(*state.State) bool) (*state.State, []metric.Sample) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		r := sc.Once(t.Context())
		if r.State != nil && f(r.State) {
			return r.State, r.Samples
		}
		if time.Now().After(end) {
			for _, x := range r.Sources {
				t.Logf("%+v", x)
			}
			if r.State == nil {
				t.Fatalf("%s: not seen, no state", what)
			}
			t.Fatalf("%s: not seen, last %q of %+v\nsessions %+v", what, edges(r.State.Waits),
				r.State.Waits, r.State.Sessions)
		}
	}
}

func edges(ws []state.Wait) (out []string) {
	for _, w := range ws {
		b := "?"
		if n, ok := w.Blocker.Get(); ok {
			b = fmt.Sprint(n)
		}
		out = append(out, fmt.Sprintf("%d>%s %s %s", w.Waiter, b, w.Kind, w.Object))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestLocks(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			locksOn(t, flavor, s)
			t.Run("last statement", func(t *testing.T) {
				// MariaDB begins without
				s.Exec(t, "UPDATE performance_schema.setup_consumers SET ENABLED='YES' WHERE "+
					"NAME='events_statements_current'")
				var c [2]*sql.Conn
				for i := range c {
					var err error
					if c[i], err = s.DB(t, "d").Conn(t.Context()); err != nil {
						t.Fatal(err)
					}
					defer c[i].Close()
				}
				var blocker uint64
				if err := c[0].QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&blocker); err != nil {
					t.Fatal(err)
				}
				for _, q := range []string{"BEGIN", "UPDATE t SET v = v + 1 WHERE id = 2"} {
					if _, err := c[0].ExecContext(t.Context(), q); err != nil {
						t.Fatal(err)
					}
				}
				done := make(chan error, 1)
				go func() {
					_, err := c[1].ExecContext(context.WithoutCancel(t.Context()),
						"UPDATE t SET v = v + 2 WHERE id = 2")
					done <- err
				}()
				sc := scraper(t, open(t, s, "root"),
					scrape.Options{Sources: []string{"transactions", "processlist", "locks"}})
				until(t, sc, "what the idle blocker ran last", func(st *state.State) bool {
					return slices.ContainsFunc(st.Sessions, func(x state.Session) bool {
						return x.ID == blocker && x.SQL == "" && x.Last == "UPDATE t SET v = v + 1 WHERE id = 2"
					})
				})
				if _, err := c[0].ExecContext(t.Context(), "ROLLBACK"); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			t.Run("denied", func(t *testing.T) {
				s.Exec(t, "CREATE USER nobody@localhost")
				r := scraper(t, open(t, s, "nobody"), scrape.Options{Sources: []string{
					"transactions", "processlist",
					"locks",
				}}).Once(t.Context())
				for _, name := range []source.Name{"transactions", "processlist", "locks"} {
					if x := sourceOf(t, r.Sources, name); x.State != source.Denied ||
						!strings.Contains(x.Fix, "GRANT PROCESS") {
						t.Errorf("%+v", x)
					}
				}
				if _, ok := find(r.Samples, "dyno_lock_waiters"); ok {
					t.Error("nothing is known of waiters, and they are counted")
				}
			})
		})
	}
}

// locksOn makes sessions of a server wait for locks of each kind. The server must not hold the database d.
func locksOn(t *testing.T, flavor string, s *servers.Server) {
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, KEY (v)) ENGINE=InnoDB",
		"INSERT INTO d.t VALUES (1,1),(2,2),(3,3)",
		"CREATE TABLE d.u (id INT PRIMARY KEY) ENGINE=InnoDB")
	names := scrape.Options{Sources: []string{"transactions", "processlist", "locks"}}
	db := s.DB(t, "d")
	bare := scraper(t, open(t, s, "root"), names)
	told := true // who holds metadata locks
	if flavor == "mariadb" {
		_, err := db.ExecContext(t.Context(), "INSTALL SONAME 'metadata_lock_info'")
		told = err == nil // distributions may leave the plugin out
	}
	sc := scraper(t, open(t, s, "root"), names)
	if flavor == "mysql" {
		told = open(t, s, "root").Has(target.HasMetadataLocks) // not in 5.6
	}
	// expect polls until exactly these waits are seen: "waiter>blocker kind object".
	expect := func(t *testing.T, want ...string) *state.State {
		t.Helper()
		if !told {
			for i, w := range want {
				for _, kind := range []string{"metadata", "table", "global"} {
					if waiter, rest, _ := strings.Cut(w, ">"); strings.Contains(rest, " "+kind+" ") {
						_, object, _ := strings.Cut(rest, " "+kind+" ")
						if kind == "table" {
							kind = "metadata" // what LOCK TABLES holds
						}
						if kind == "global" {
							object = "d.u"
						}
						want[i] = waiter + ">? " + kind + " " + object
					}
				}
			}
		}
		slices.Sort(want)
		st, samples := until(t, sc, strings.Join(want, ", "), func(st *state.State) bool {
			// A wait that began after the sessions of the round were read is one of a session that is not there yet.
			return slices.Equal(edges(st.Waits), want) && !slices.ContainsFunc(st.Waits, func(w state.Wait) bool {
				return !slices.ContainsFunc(st.Sessions, func(x state.Session) bool { return x.ID == w.Waiter }) ||
					!w.Seconds.OK()
			})
		})
		for _, w := range st.Waits {
			if sec, ok := w.Seconds.Get(); !ok || sec < 0 || sec > 3600 {
				t.Errorf("%+v: no time", w)
			}
			for _, id := range []uint64{w.Waiter, w.Blocker.Or(w.Waiter)} {
				if !slices.ContainsFunc(st.Sessions, func(x state.Session) bool { return x.ID == id }) {
					t.Errorf("session %d of %+v is not shown", id, w)
				}
			}
		}
		unexplained := 0.0
		for _, w := range st.Waits {
			if !w.Blocker.OK() {
				if unexplained++; !strings.Contains(w.Why, "metadata locks") {
					t.Errorf("%+v", w)
				}
			}
		}
		if v, ok := find(samples, "dyno_lock_waiters_unexplained"); !ok || v.Value != unexplained {
			t.Errorf("unexplained: %v %v", v.Value, ok)
		}
		return st
	}
	t.Run("nobody", func(t *testing.T) {
		r := sc.Once(t.Context())
		if len(r.State.Waits) != 0 || r.State.Transactions == nil {
			t.Errorf("%+v", r.State)
		}
		for _, kind := range []string{"row", "table", "metadata", "global", "user"} {
			if v, ok := find(r.Samples, "dyno_lock_waiters", "kind", kind); !ok || v.Value != 0 {
				t.Errorf("%s: %v %v", kind, v, ok)
			}
		}
	})
	t.Run("rows", func(t *testing.T) {
		c := &crew{t: t, db: db}
		a, b, x := c.session(), c.session(), c.session()
		c.do(a, "BEGIN", "UPDATE t SET v=10 WHERE id=1")
		c.do(b, "BEGIN", "UPDATE t SET v=20 WHERE id=2")
		c.later(b, "UPDATE t SET v=11 WHERE id=1")
		expect(t, fmt.Sprintf("%d>%d row d.t (PRIMARY)", b.id, a.id))
		c.later(x, "UPDATE t SET v=21 WHERE id=2")
		st := expect(t, fmt.Sprintf("%d>%d row d.t (PRIMARY)", b.id, a.id),
			fmt.Sprintf("%d>%d row d.t (PRIMARY)", x.id, b.id))
		roots := state.Tree(st.Waits)
		if len(roots) != 1 || roots[0].Session.Or(0) != a.id || roots[0].Total != 2 {
			t.Errorf("%+v", roots)
		}
		for _, w := range st.Waits {
			if !strings.HasPrefix(w.Mode, "X") || !strings.HasPrefix(w.Held, "X") {
				t.Errorf("%+v", w)
			}
		}
		i := slices.IndexFunc(st.Sessions, func(y state.Session) bool { return y.ID == a.id })
		if st.Sessions[i].Command != "Sleep" || st.Sessions[i].SQL != "" {
			t.Errorf("%+v", st.Sessions[i])
		}
		j := slices.IndexFunc(st.Transactions, func(y state.Transaction) bool { return y.Session == a.id })
		if j < 0 || st.Transactions[j].Modified.Or(0) != 1 || st.Transactions[j].Phase != "RUNNING" {
			t.Errorf("%+v", st.Transactions)
		}
		c.do(a, "ROLLBACK")
		<-c.wait[0]
		c.do(b, "ROLLBACK")
		c.wait = c.wait[1:]
		c.end()
	})
	t.Run("metadata", func(t *testing.T) {
		c := &crew{t: t, db: db}
		a, b, x := c.session(), c.session(), c.session()
		c.do(a, "BEGIN", "SELECT * FROM t WHERE id=1")
		c.later(b, "ALTER TABLE t ADD COLUMN w INT")
		expect(t, fmt.Sprintf("%d>%d metadata d.t", b.id, a.id))
		c.later(x, "SELECT * FROM d.t WHERE id=2")
		st := expect(t, fmt.Sprintf("%d>%d metadata d.t", b.id, a.id), fmt.Sprintf("%d>%d metadata d.t", x.id, b.id))
		if r := state.Tree(st.Waits); len(r) != 1 || told && r[0].Session.Or(0) != a.id || r[0].Total != 2 {
			t.Errorf("%+v", r)
		}
		if flavor == "mariadb" && told { // the one that was set up before the plugin was there
			st, samples := until(t, bare, "unknown blockers", func(st *state.State) bool { return len(st.Waits) == 2 })
			for _, w := range st.Waits {
				if w.Blocker.OK() || !strings.Contains(w.Why, "metadata_lock_info") || w.Object != "d.t" ||
					w.Kind != state.MetadataLock {
					t.Errorf("%+v", w)
				}
			}
			if v, _ := find(samples, "dyno_lock_waiters_unexplained"); v.Value != 2 {
				t.Errorf("unexplained: %v", v)
			}
		}
		c.do(a, "COMMIT")
		c.end()
	})
	t.Run("tables", func(t *testing.T) {
		c := &crew{t: t, db: db}
		a, b := c.session(), c.session()
		c.do(a, "LOCK TABLES u WRITE")
		c.later(b, "INSERT INTO u VALUES (1)")
		expect(t, fmt.Sprintf("%d>%d table d.u", b.id, a.id))
		c.do(a, "UNLOCK TABLES")
		c.end()
	})
	t.Run("global", func(t *testing.T) {
		c := &crew{t: t, db: db}
		a, b := c.session(), c.session()
		c.do(a, "FLUSH TABLES WITH READ LOCK")
		c.later(b, "INSERT INTO u VALUES (2)")
		expect(t, fmt.Sprintf("%d>%d global ", b.id, a.id))
		c.do(a, "UNLOCK TABLES")
		c.end()
	})
	t.Run("user", func(t *testing.T) {
		c := &crew{t: t, db: db}
		a, b := c.session(), c.session()
		c.do(a, "SELECT GET_LOCK('the name', 0)")
		c.later(b, "SELECT GET_LOCK('the name', 60)")
		want := fmt.Sprintf("%d>%d user the name", b.id, a.id)
		expect(t, want)
		// A name that no lock can have, in a statement that waits, costs that statement its explanation and no other.
		x := c.session()
		c.later(x, "SELECT /* get_lock('"+strings.Repeat("x", 300)+"') */ GET_LOCK('the name', 60)")
		until(t, sc, "both who wait", func(st *state.State) bool {
			return slices.Contains(edges(st.Waits), want) && slices.ContainsFunc(st.Waits, func(w state.Wait) bool {
				return w.Waiter == x.id
			})
		})
		c.do(a, "SELECT RELEASE_LOCK('the name')")
		<-c.wait[0]
		c.wait = c.wait[1:]
		c.do(b, "SELECT RELEASE_LOCK('the name')")
		c.end()
	})
}

// TestLocksCostNothingWhenNobodyWaits counts what the source asks.
func TestLocksCostNothingWhenNobodyWaits(t *testing.T) {
	s := servers.Start(t, "mariadb")
	sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{"locks"}})
	sc.Once(t.Context())
	before := s.Status(t, "Queries")
	for range 5 {
		sc.Once(t.Context())
	}
	if n := s.Status(t, "Queries") - before; n != 1 { // the one that asks
		t.Errorf("%d statements", n-1)
	}
}

func TestWaitsFor(t *testing.T) {
	f := func(phase string, want state.WaitKind) {
		t.Helper()
		if got, ok := waitsFor(phase); got != want || ok != (want != "") {
			t.Errorf("%q: got %q %v, want %q", phase, got, ok, want)
		}
	}
	f("Waiting for table metadata lock", state.MetadataLock)
	f("Waiting for stored function metadata lock", state.MetadataLock)
	f("Waiting for global read lock", state.GlobalLock)
	f("Waiting for backup lock", state.GlobalLock)
	f("Waiting for commit lock", state.GlobalLock)
	f("Waiting for table flush", state.GlobalLock)
	f("Waiting for table level lock", state.TableLock)
	f("User lock", state.UserLock)
	f("System lock", "")
	f("Table lock", "") // on the way, InnoDB tables too
	f("Waiting for an event from Coordinator", "")
	f("Unlocking tables", "")
	f("Waiting for query cache lock", "")
	f("", "")
}
