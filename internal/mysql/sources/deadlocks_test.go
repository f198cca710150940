package sources

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/test/servers"
)

// plant makes a deadlock of two sessions on rows of their own, and returns the session that was rolled back.
func plant(t *testing.T, db *sql.DB, n int) (victim uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var conns [2]*sql.Conn
	var ids [2]uint64
	for i := range conns {
		c, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&ids[i]); err != nil {
			t.Fatal(err)
		}
		exec(t, c, "BEGIN", fmt.Sprintf("UPDATE dd.t SET v=v+1 WHERE id=%d", 2*n+i))
		conns[i] = c
	}
	var errs [2]error
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			_, errs[i] = c.ExecContext(ctx, fmt.Sprintf("UPDATE dd.t SET v=v+%d WHERE id=%d", 10+i, 2*n+1-i))
		})
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("no deadlock: %v, %v", errs[0], errs[1])
	}
	for _, c := range conns {
		exec(t, c, "ROLLBACK")
	}
	if errs[0] != nil {
		return ids[0]
	}
	return ids[1]
}

// TestDeadlocks plants deadlocks on real servers, several between two readings: with innodb_print_all_deadlocks all of
// them are read and none twice, without it the latest is, and the number of the others is known.
func TestDeadlocks(t *testing.T) {
	const rounds, each = 4, 3
	for _, x := range []struct {
		flavor   string
		all      bool
		settings []string
	}{
		{"mariadb", true, []string{"innodb-print-all-deadlocks=ON"}},
		{"mariadb", false, nil},
		{"mysql", true, []string{"innodb-print-all-deadlocks=ON"}},
		{"mysql", true, []string{"innodb-print-all-deadlocks=ON", "log-error-verbosity=3"}},
		{"mysql", false, nil},
		{"mysql80", true, []string{"innodb-print-all-deadlocks=ON"}},
	} {
		t.Run(fmt.Sprint(x.flavor, x.settings), func(t *testing.T) {
			s := servers.Start(t, x.flavor, x.settings...)
			s.Exec(t, "CREATE DATABASE dd", "CREATE TABLE dd.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
			for i := range 2 * (rounds*each + 1) {
				s.Exec(t, fmt.Sprintf("INSERT INTO dd.t VALUES (%d, 0)", i))
			}
			db := s.DB(t, "")
			tg := open(t, s, "root")
			sc := scraper(t, tg, scrape.Options{Sources: []string{"innodb_metrics", "deadlocks"}})
			old := plant(t, db, rounds*each) // before anybody looks
			found, missed, named := map[string]lock.Deadlock{}, uint64(0), 0
			took := 0
			read := func() {
				r := sc.Once(t.Context())
				for _, d := range r.Deadlocks.Deadlocks {
					if had, ok := found[d.ID]; ok && (had.Why == "" || d.Why != "") {
						t.Errorf("twice: %+v", d)
					}
					found[d.ID] = d
					took++
				}
				for _, m := range r.Deadlocks.Missed {
					missed += m.Count
				}
			}
			read()
			victims := map[uint64]int{old: 1}
			for i := range rounds {
				for k := range each {
					victims[plant(t, db, i*each+k)]++
				}
				read()
			}
			for range 4 {
				read()
			}
			for _, d := range found {
				if len(d.Parties) != 2 || time.Since(d.At) > time.Hour || time.Until(d.At) > time.Minute {
					t.Errorf("%+v", d)
				}
				for _, p := range d.Parties {
					if p.Class == "" || p.Fingerprint != "update dd.t set v=v? where id=?" || p.User != "root" ||
						len(p.Holds) == 0 || len(p.Waits) != 1 || p.Waits[0].Object != "dd.t" ||
						p.Waits[0].Index != "PRIMARY" {
						t.Errorf("%s: %+v", d.ID, p)
					}
				}
				if v, ok := d.Victim(); ok {
					named++
					if victims[v.Session]--; victims[v.Session] < 0 {
						t.Errorf("session %d was no victim: %v", v.Session, victims)
					}
				}
			}
			want, lost := 1+rounds*each, 0
			if !x.all {
				want, lost = 1+rounds, rounds*(each-1)
			}
			t.Logf("%d found in %d, %d with their victim, %d missed", len(found), took, named, missed)
			least := want
			if x.flavor != "mariadb" && len(x.settings) == 1 { // its log names victims with log_error_verbosity=3 only
				least = 1 + rounds
			}
			if len(found) != want || missed != uint64(lost) || named < least {
				t.Errorf("found %d, want %d; missed %d, want %d; %d victims, want %d", len(found), want, missed, lost,
					named, least)
				t.Log(s.Log())
			}
		})
	}
}

// failing over leads one name to one server after the other.
type failing struct {
	querier
	gen int
}

func (f *failing) Generation() int { return f.gen + f.querier.Generation() }

func (f *failing) to(q querier) { f.querier, f.gen = q, f.gen+1000 }

// TestDeadlocksAcrossConnections: a connection that breaks makes no deadlock a missed one, another server's are not
// this one's, and a server elsewhere is not looked for each minute.
func TestDeadlocksAcrossConnections(t *testing.T) {
	var db [2]*sql.DB
	var link [2]querier
	var tg *target.Target
	for i := range 2 {
		s := servers.Start(t, "mariadb")
		s.Exec(t, "CREATE DATABASE dd", "CREATE TABLE dd.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
		for k := range 40 {
			s.Exec(t, fmt.Sprintf("INSERT INTO dd.t VALUES (%d, 0)", k))
		}
		x := connect(t, s, "root")
		db[i], link[i], tg = x.db, x.l, x.t
	}
	q, seen, opened := &failing{querier: link[0]}, new(moment), 0
	counter := newInnodbMetrics(q, tg, seen)
	src := newDeadlocks(q, tg, seen, func(context.Context, string) (*os.File, error) {
		opened++
		return nil, target.ErrElsewhere
	})
	found, missed := 0, uint64(0)
	round := func(n int, broken bool) {
		t.Helper()
		for range n {
			if _, err := read(t, counter); (err != nil) != broken {
				t.Fatalf("the counter: %v", err)
			}
			mustRead(t, src)
			got := src.Deadlocks()
			found += len(got.Deadlocks)
			for _, m := range got.Missed {
				missed += m.Count
				if !m.From.Before(m.To) {
					t.Errorf("%+v", m)
				}
			}
		}
	}
	f := func(what string, wantFound int, wantMissed uint64) {
		t.Helper()
		if found != wantFound || missed != wantMissed {
			t.Errorf("%s: %d found, want %d; %d missed, want %d", what, found, wantFound, missed, wantMissed)
		}
	}
	breakOff := func() {
		t.Helper()
		var id uint64
		if _, err := q.Query(t.Context(), "SELECT CONNECTION_ID()", func(row []driver.Value) {
			id = whole(row[0]).Or(0)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := db[0].ExecContext(t.Context(), fmt.Sprintf("KILL %d", id)); err != nil {
			t.Fatal(err)
		}
		round(1, true)
	}
	next := 0
	deadlock := func(on int) { plant(t, db[on], next%19); next++ }
	deadlock(0) // before anybody looks: there is one to read
	round(2, false)
	for range 3 {
		deadlock(0)
		round(1, false)
	}
	f("each read", 4, 0)
	was := opened
	round(10, false) // 20 s each
	if was != 1 || opened != 1 {
		t.Errorf("looked for %d and %d times", was, opened)
	}
	breakOff()
	round(5, false)
	f("a broken connection", 4, 0)
	deadlock(0)
	deadlock(0)
	breakOff()
	round(5, false)
	f("two around a broken connection", 5, 1)
	for range 9 {
		deadlock(1)
	}
	q.to(link[1])
	seen.deadlocks = known.Of(uint64(70)) // of the other server, whose successor could not be asked yet
	mustRead(t, src)
	src.Deadlocks()
	found++ // the latest of it
	round(5, false)
	f("another server", 6, 1)
	deadlock(1)
	deadlock(1)
	round(5, false)
	f("two on the other server", 7, 2)
}
