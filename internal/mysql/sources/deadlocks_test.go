package sources

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
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
			if len(found) != want || missed != uint64(lost) || named < 1+rounds {
				t.Errorf("found %d, want %d; missed %d, want %d; %d victims", len(found), want, missed, lost, named)
				t.Log(s.Log())
			}
		})
	}
}
