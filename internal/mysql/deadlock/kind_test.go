package deadlock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestKind makes real servers resolve a deadlock of each kind.
func TestKind(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d",
				"CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, v INT, KEY by_a (a), KEY by_b (b))",
				"INSERT INTO d.t VALUES (10,10,10,0), (20,20,20,0), (30,30,30,0)",
				"CREATE TABLE d.parent (id INT PRIMARY KEY, n INT)", "INSERT INTO d.parent VALUES (1,0), (2,0)",
				"CREATE TABLE d.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES d.parent (id))")
			// Each side executes its first statements, then both their last one.
			f := func(want Kind, one, two []string) {
				t.Helper()
				if got := resolved(t, s, one, two).Kind(); got != want {
					t.Errorf("%q and %q: kind %q, want %q", one, two, got, want)
				}
			}
			f(Order, []string{"UPDATE t SET v = 1 WHERE id = 10", "UPDATE t SET v = 1 WHERE id = 20"},
				[]string{"UPDATE t SET v = 2 WHERE id = 20", "UPDATE t SET v = 2 WHERE id = 10"})
			f(Order, []string{"UPDATE t SET v = 1 WHERE id = 10", "UPDATE parent SET n = 1 WHERE id = 1"},
				[]string{"UPDATE parent SET n = 2 WHERE id = 1", "UPDATE t SET v = 2 WHERE id = 10"})
			f(Gap, []string{"SELECT * FROM t WHERE id = 15 FOR UPDATE", "INSERT INTO t VALUES (15, 15, 15, 1)"},
				[]string{"SELECT * FROM t WHERE id = 16 FOR UPDATE", "INSERT INTO t VALUES (16, 16, 16, 1)"})
			f(Gap, []string{"DELETE FROM t WHERE id = 41", "INSERT INTO t VALUES (41, 41, 41, 1)"},
				[]string{"DELETE FROM t WHERE id = 42", "INSERT INTO t VALUES (42, 42, 42, 1)"})
			f(Upgrade, []string{"SELECT * FROM t WHERE id = 10 LOCK IN SHARE MODE", "UPDATE t SET v = 1 WHERE id = 10"},
				[]string{"SELECT * FROM t WHERE id = 10 LOCK IN SHARE MODE", "UPDATE t SET v = 2 WHERE id = 10"})
			f(Upgrade, []string{"INSERT INTO child VALUES (1, 1)", "UPDATE parent SET n = n + 1 WHERE id = 1"},
				[]string{"INSERT INTO child VALUES (2, 1)", "UPDATE parent SET n = n + 1 WHERE id = 1"})
			// Two parents, each shared by a child, and changed crosswise: not one record.
			f(Order, []string{"INSERT INTO child VALUES (3, 1)", "UPDATE parent SET n = n + 1 WHERE id = 2"},
				[]string{"INSERT INTO child VALUES (4, 2)", "UPDATE parent SET n = n + 1 WHERE id = 1"})
			f(Indexes, []string{
				"UPDATE t SET v = 1 WHERE id = 20", "UPDATE t SET b = b + 100 WHERE id = 20",
			}, []string{
				"SELECT b FROM t FORCE INDEX (by_b) WHERE b = 20 LOCK IN SHARE MODE",
				"SELECT v FROM t WHERE id = 20 LOCK IN SHARE MODE",
			})
		})
	}
}

// resolved returns the deadlock that two transactions end in.
func resolved(t *testing.T, s *servers.Server, one, two []string) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	db := s.DB(t, "d")
	var txs [2]*sql.Tx
	for i, side := range [][]string{one, two} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		txs[i] = tx
		for _, q := range side[:len(side)-1] {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
	}
	var last sync.WaitGroup
	var lost atomic.Int32
	for i, side := range [][]string{one, two} {
		last.Go(func() {
			_, err := txs[i].ExecContext(ctx, side[len(side)-1])
			if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == 1213 {
				lost.Add(1)
			}
			txs[i].Rollback()
		})
	}
	last.Wait()
	if lost.Load() != 1 {
		t.Fatalf("%q and %q: %d were lost to a deadlock", one, two, lost.Load())
	}
	var kind, name, text string
	if err := db.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &text); err != nil {
		t.Fatal(err)
	}
	r, ok := Read(Section(text))
	if !ok {
		t.Fatalf("no deadlock: %s", text)
	}
	d := r.Deadlock(lock.FromStatus, time.Time{})
	for _, p := range d.Parties {
		t.Logf("%q holds %v waits %v", p.SQL, p.Holds, p.Waits)
	}
	return &r
}
