package page

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/history"
)

// TestLockHistory plants a deadlock, and a chain of three sessions that lasts for more than three seconds: the history
// has each once, with its statements and its root, the page draws the deadlock, and the program prints it.
func TestLockHistory(t *testing.T) {
	s := stage(t)
	s.Exec("CREATE TABLE dead (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
		"INSERT INTO dead VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
	t.Cleanup(func() { s.Exec("DROP TABLE dead") })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var conns [3]*sql.Conn
	var ids [3]uint64
	do := func(i int, q string) {
		t.Helper()
		if _, err := conns[i].ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	for i := range conns {
		c, err := s.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&ids[i]); err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		do(i, "SET SESSION innodb_lock_wait_timeout = 1000")
		do(i, "BEGIN")
		do(i, fmt.Sprintf("UPDATE dead SET n = n + 1 WHERE id = %d", i+1))
	}
	errs := make(chan error, 2)
	go func() { _, err := conns[0].ExecContext(ctx, "UPDATE dead SET n = n + 7 WHERE id = 2"); errs <- err }()
	go func() { _, err := conns[1].ExecContext(ctx, "DELETE FROM dead WHERE id = 1"); errs <- err }()
	if a, b := <-errs, <-errs; (a == nil) == (b == nil) {
		t.Fatalf("no deadlock: %v, %v", a, b)
	}
	do(0, "ROLLBACK")
	do(1, "ROLLBACK")

	// 0 holds the third row, 1 waits for it and holds the fourth, which 2 waits for.
	do(2, "ROLLBACK")
	for i := range conns {
		do(i, "BEGIN")
	}
	do(0, "UPDATE dead SET n = n + 1 WHERE id = 3")
	do(1, "UPDATE dead SET n = n + 1 WHERE id = 4")
	go func() { _, err := conns[1].ExecContext(ctx, "UPDATE dead SET n = n + 2 WHERE id = 3"); errs <- err }()
	b := s.Browser(t)
	visit(b, "/activity?target=shop&tab=locks")
	b.Wait(fmt.Sprintf("section.root[aria-label='root blocker %d']", ids[0]))
	go func() { _, err := conns[2].ExecContext(ctx, "DELETE FROM dead WHERE id = 4"); errs <- err }()
	var all history.Locks
	locks := func() {
		all = history.Locks{} // what JSON leaves out would stay
		s.Get("locks?target=shop&from=-10m", &all)
	}
	waited := func() int {
		locks()
		for i, w := range all.Waits {
			if w.Root.Session.Or(0) == ids[0] {
				return i
			}
		}
		return -1
	}
	eventually(t, "the chain is seen as deep as it is", func() error {
		var st struct {
			Waits []struct{ Waiter uint64 } `json:"waits"`
		}
		s.Get("state?target=shop", &st)
		for _, w := range st.Waits {
			if w.Waiter == ids[2] && time.Since(began(ctx, t, s.DB, ids[2])) > 3*time.Second {
				return nil
			}
		}
		return fmt.Errorf("%+v", st.Waits)
	})
	do(0, "ROLLBACK")
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	do(1, "ROLLBACK")
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	do(2, "ROLLBACK")
	eventually(t, "the wait has ended", func() error {
		if i := waited(); i < 0 || all.Waits[i].Open {
			return fmt.Errorf("%+v", all.Waits)
		}
		return nil
	})
	mine := 0
	for _, w := range all.Waits {
		for _, x := range w.Waiters {
			if x.Session == ids[2] {
				mine++
			}
		}
	}
	w := all.Waits[waited()]
	if mine != 1 || w.Depth != 2 || w.Total != 2 || !w.Root.Idle || w.Waiters[0].Seconds < 3 ||
		w.Waiters[0].Lock.Object != "shop.dead" || w.Waiters[0].Lock.Index != "PRIMARY" {
		t.Errorf("%d of session %d: %+v", mine, ids[2], w)
	}
	n := 0
	for _, d := range all.Deadlocks {
		for _, p := range d.Parties {
			if p.Session == ids[0] {
				n++
			}
		}
	}
	if n != 1 {
		t.Fatalf("the deadlock is there %d times: %+v", n, all.Deadlocks)
	}
	d := all.Deadlocks[0]
	if _, ok := d.Victim(); !ok || len(d.Parties) != 2 {
		t.Errorf("%+v", d)
	}
	if text := s.Dyno("locks", "shop", d.ID); !strings.Contains(text, "DELETE FROM dead WHERE id = 1") ||
		!strings.Contains(text, "rolled back") || !strings.Contains(text, "shop.dead (PRIMARY)") {
		t.Errorf("%s", text)
	}
	list := s.Dyno("locks", "shop")
	t.Log("\n" + list + s.Dyno("locks", "shop", d.ID))
	if !strings.Contains(list, "delete from dead where id = ?") || !strings.Contains(list, d.ID) {
		t.Errorf("%s", list)
	}

	visit(b, "/activity?target=shop&tab=history&deadlock="+d.ID)
	b.WaitText("section.deadlock", "Rolled back")
	for _, words := range []string{"DELETE FROM dead", "shop.dead (PRIMARY)", "Holds", "Waits for"} {
		b.WaitText("section.deadlock", words)
	}
	b.WaitText("main", "Blocking and blocked queries")
	b.WaitText("main", "Lock waits (")
	shots(b, "lock-history", "main")
}

// began returns when the transaction of a session began to wait; now while it does not.
func began(ctx context.Context, t *testing.T, db *sql.DB, id uint64) time.Time {
	t.Helper()
	sec := 0.0
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_wait_started, NOW())), 0) "+
		"FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = ?", id).Scan(&sec); err != nil {
		t.Fatal(err)
	}
	return time.Now().Add(-time.Duration((sec + 0.5) * float64(time.Second)))
}
