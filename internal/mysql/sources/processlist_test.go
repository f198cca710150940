package sources

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

func sessionOf(st *state.State, id uint64) (state.Session, bool) {
	i := slices.IndexFunc(st.Sessions, func(x state.Session) bool { return x.ID == id })
	if i < 0 {
		return state.Session{}, false
	}
	return st.Sessions[i], true
}

func TestSessions(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON", "max_connections=700", "max_allowed_packet=32M")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
				"INSERT INTO d.t VALUES (1,1)")
			sc := scraper(t, open(t, s, "root"),
				scrape.Options{Sources: []string{"transactions", "processlist", "locks"}})
			db := s.DB(t, "d")
			// running starts a statement that runs on until the end of the subtest, and waits until it is seen.
			running := func(t *testing.T, q string) (*state.State, state.Session) {
				t.Helper()
				c := &crew{t: t, db: db}
				m := c.session()
				c.later(m, q)
				var x state.Session
				st, _ := until(t, sc, q[:min(len(q), 100)], func(st *state.State) (ok bool) {
					x, ok = sessionOf(st, m.id)
					return ok && x.Command == "Query" && x.SQL != "" && x.Seconds > 0
				})
				t.Cleanup(func() { db.ExecContext(context.Background(), fmt.Sprintf("KILL %d", m.id)) })
				return st, x
			}
			t.Run("what runs", func(t *testing.T) {
				const q = "SELECT SLEEP(50), v FROM t WHERE id=1"
				_, x := running(t, q)
				if x.SQL != q || x.ClassID != class.ID(mytext.Fingerprint(q)) || x.User != "root" || x.DB != "d" ||
					x.Phase == "" || x.Seconds > 60 {
					t.Errorf("%+v", x)
				}
			})
			t.Run("a password", func(t *testing.T) {
				_, x := running(t, "SELECT SLEEP(50), 'pass word: sesame' AS password")
				if strings.Contains(x.SQL, "sesame") {
					t.Errorf("%+v", x)
				}
			})
			t.Run("ten megabytes that are no UTF-8", func(t *testing.T) {
				st, x := running(t, "SELECT SLEEP(50), '"+strings.Repeat("\xff\xfe\xe9", 3<<20)+"'")
				if len(x.SQL) > state.MaxText || flavor == "mariadb" && len(x.SQL) < 500 || !utf8.ValidString(x.SQL) ||
					x.ClassID != "" || !strings.HasPrefix(x.SQL, "SELECT SLEEP(50), '") {
					t.Errorf("%d bytes, class %q: %.80q", len(x.SQL), x.ClassID, x.SQL)
				}
				if b, err := state.Encode(st); err != nil || !utf8.Valid(b) {
					t.Error(err)
				}
			})
			t.Run("a schema change", func(t *testing.T) {
				c := &crew{t: t, db: db}
				a, b := c.session(), c.session()
				c.do(a, "BEGIN", "SELECT * FROM t")
				sc.Once(t.Context())
				var es []event.Event
				see := func(f func(event.Event) bool) event.Event {
					t.Helper()
					for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
						es = append(es, sc.Once(t.Context()).Events...)
						if i := slices.IndexFunc(es, f); i >= 0 {
							return es[i]
						}
						if time.Now().After(end) {
							t.Fatalf("not seen in %+v", es)
						}
					}
				}
				c.later(b, "ALTER TABLE t ADD COLUMN w INT")
				began := see(func(e event.Event) bool { return e.Kind == event.DDL && e.Until.IsZero() })
				c.do(a, "COMMIT")
				c.end()
				ended := see(func(e event.Event) bool { return e.Kind == event.DDL && !e.Until.IsZero() })
				if began.Text != "ALTER TABLE t ADD COLUMN w INT" || began.ID == "" || began.ID != ended.ID ||
					!ended.At.Equal(began.At) || ended.Until.Before(ended.At) {
					t.Errorf("%+v, %+v", began, ended)
				}
			})
			t.Run("many that sleep", func(t *testing.T) {
				c := &crew{t: t, db: db}
				var ms []member
				for range manySleep + 20 {
					ms = append(ms, c.session())
				}
				last := ms[len(ms)-1]
				c.do(last, "BEGIN", "UPDATE t SET v=v+1")
				var connected uint64
				see := func(what string, list int) {
					t.Helper()
					connected = s.Status(t, "Threads_connected")
					st, samples := until(t, sc, what, func(st *state.State) bool {
						x, ok := sessionOf(st, last.id)
						return ok && x.Command == "Sleep" && st.Idle.OK()
					})
					n, idle := st.Connections.Or(0), st.Idle.Or(0)
					if len(st.Sessions) > list || idle < manySleep || idle >= n || n < int(connected)-30 ||
						n > int(connected)+30 {
						t.Errorf("%s: %d connections (%d), %d idle, %d shown", what, n, connected,
							idle, len(st.Sessions))
					}
					sum := 0.0
					for _, x := range samples {
						if x.Name == "mysql_info_schema_processlist_threads" && x.Labels.Get("command") == "sleep" {
							sum += x.Value
						}
					}
					if sum < manySleep {
						t.Errorf("%s: counted %v", what, sum)
					}
				}
				see("all read", 30)
				for range 3 {
					sc.Once(t.Context())
				}
				src := sc.entries[slices.IndexFunc(sc.entries, func(x scrape.Entry) bool {
					return x.Source.Name() == "processlist"
				})].Source.(*processlist)
				if !src.wide {
					t.Error("all of them are still read")
				}
				before := sc.link.used.Rows
				see("counted", 30)
				if got := sc.link.used.Rows - before; got > 100*30 {
					t.Errorf("%d rows", got)
				}
				for _, m := range ms[:400] {
					if err := m.Close(); err != nil && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
				}
				db.SetMaxIdleConns(1) // now they are closed
				until(t, sc, "fewer", func(*state.State) bool { return !src.wide })
			})
			t.Run("somebody else with Dyno's tag", func(t *testing.T) {
				s.Exec(t, "CREATE USER tenant@localhost")
				tenant, err := sql.Open("mysql", "tenant@unix("+s.Socket+")/")
				if err != nil {
					t.Fatal(err)
				}
				defer tenant.Close()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = tenant.ExecContext(ctx, "/* dyno:x */ SELECT SLEEP(50)")
				}()
				defer func() { cancel(); <-done }()
				until(t, sc, "it is shown", func(st *state.State) bool {
					return slices.ContainsFunc(st.Sessions, func(x state.Session) bool {
						return x.User == "tenant" && strings.Contains(x.SQL, "SLEEP(50)") && x.ClassID != ""
					})
				})
			})
			t.Run("own", func(t *testing.T) {
				own := open(t, s, "root")
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := own.DB().ExecContext(ctx, sqltext.Tagged("test", "", "SELECT SLEEP(50)"))
					done <- err
				}()
				defer func() { cancel(); <-done }()
				rows := func() (n int) {
					db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '/* dyno:test%'").
						Scan(&n)
					return n
				}
				for end := time.Now().Add(30 * time.Second); rows() == 0; time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("it does not run")
					}
				}
				for _, x := range sc.Once(t.Context()).State.Sessions {
					if sqltext.Own(x.SQL) && x.User == "root" {
						t.Errorf("%+v", x)
					}
				}
			})
		})
	}
}

func TestCutOff(t *testing.T) {
	f := func(sql string, want bool) {
		t.Helper()
		if got := mytext.CutOff(sql); got != want {
			t.Errorf("%s: got %v", sql, got)
		}
	}
	f("SELECT 1", false)
	f("SELECT 'a", true)
	f("SELECT 'it''s', \"x\", `y`", false)
	f(`SELECT 'a\'`, true)
	f(`SELECT 'a\\'`, false)
	f("SELECT `a", true)
	f("SELECT 1 /* it's", true)
	f("SELECT 1 /* it's */", false)
	f("SELECT 1 -- it's", false)
	f("SELECT 1 # it's\n, 2", false)
	f("", false)
}
