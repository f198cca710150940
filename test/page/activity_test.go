package page

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pile has one session hold a row of a table of the test's own and three others wait for it, until the returned
// function is called.
func (s *Stage) pile(t *testing.T, table string) (root int, waiters []int, free func()) {
	t.Helper()
	s.Exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
		"INSERT INTO "+table+" VALUES (1, 0)")
	ctx, cancel := context.WithCancel(context.Background())
	connect := func() (*sql.Conn, int) {
		c, err := s.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var id int
		for _, q := range []string{"SET innodb_lock_wait_timeout = 600", "BEGIN"} {
			if _, err := c.ExecContext(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return c, id
	}
	holder, root := connect()
	if _, err := holder.ExecContext(ctx, "UPDATE "+table+" SET n = n + 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 3)
	for range 3 {
		c, id := connect()
		waiters = append(waiters, id)
		go func() {
			defer func() { c.Close(); done <- struct{}{} }()
			// it ends with the test at the latest
			_, _ = c.ExecContext(ctx, "UPDATE "+table+" SET n = n + 1 WHERE id = 1")
			_, _ = c.ExecContext(ctx, "COMMIT")
		}()
	}
	freed := false
	free = func() {
		if freed {
			return
		}
		freed = true
		_, _ = holder.ExecContext(ctx, "COMMIT")
		for range 3 {
			select {
			case <-done:
			case <-time.After(patience):
			}
		}
		holder.Close()
		cancel()
	}
	t.Cleanup(func() { free(); s.Exec("DROP TABLE IF EXISTS " + table) })
	return root, waiters, free
}

// TestPileUp makes sessions wait for a row: the page names who holds it while it happens, and again when it is rewound.
func TestPileUp(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/activity?target=shop")
	b.Wait("Statements")
	root, waiters, free := s.pile(t, "piles")
	began := time.Now()
	want := fmt.Sprintf("Session %d", root)
	b.Until("the root blocker is named", func() error {
		for _, line := range b.Texts(".root-blocker") {
			if strings.Contains(line, want+" ") && strings.Contains(line, "blocks 3 sessions") {
				return nil
			}
		}
		return fmt.Errorf("%q", b.Texts(".root-blocker"))
	})
	t.Logf("named after %v", time.Since(began).Round(10*time.Millisecond))
	b.Wait("waits for " + strconv.Itoa(root))
	shots(b, "now-pile", "main")

	// The tree has the blocker on top and each waiter once below it.
	visit(b, "/activity?target=shop&tab=locks")
	panel := fmt.Sprintf("section.root[aria-label='root blocker %d']", root)
	b.WaitText(panel, "Root blocker")
	head := b.Text(panel + " .root-head")
	for _, words := range []string{want, "blocks 3 sessions", "Idle for", "transaction open for", "1 modified"} {
		if !strings.Contains(head, words) {
			t.Errorf("the root says %q, without %q", head, words)
		}
	}
	lines := b.Texts(panel + " .waiter")
	if len(lines) != 3 {
		t.Errorf("%d waiters: %q", len(lines), lines)
	}
	for _, id := range waiters {
		if text := strings.Join(lines, "\n"); strings.Count(text, strconv.Itoa(id)+" ") < 1 ||
			!strings.Contains(strings.ToLower(text), "update piles set n = n + 1") ||
			!strings.Contains(text, "row lock") || !strings.Contains(text, "piles") {
			t.Errorf("waiter %d is not told well in %q", id, lines)
		}
	}
	shots(b, "now-locks", "main")
	b.ClickText(want)
	b.Wait(fmt.Sprintf("aside[aria-label='Session %d']", root))
	b.WaitText("aside.session", "Transaction")
	b.Shot("now-session")
	visit(b, fmt.Sprintf("/activity?target=shop&tab=transactions&session=%d", waiters[0]))
	b.WaitText("aside.session", fmt.Sprintf("for session %d", root))
	b.WaitText("main .table", "LOCK WAIT")
	b.Shot("now-transactions")

	at := time.Now().Unix() - 2
	free()
	visit(b, "/activity?target=shop")
	b.WaitGone("blocks 3 sessions")

	// Then: the same second, looked at again.
	visit(b, fmt.Sprintf("/activity?target=shop&at=%d", at))
	b.WaitText(".root-blocker", want+" ")
	b.WaitText(".root-blocker", "blocks 3 sessions")
	if got := b.Text(".player-at"); strings.Contains(got, "now") {
		t.Errorf("the moment is %q", got)
	}
	// The keyboard moves through time. A minute before, the program may not have run yet.
	refusals(b, "404", `state\?`)
	param := func(want string) {
		t.Helper()
		b.Until("at="+want, func() error {
			if got := b.Param("at"); got != want {
				return fmt.Errorf("it is %q", got)
			}
			return nil
		})
	}
	b.Key("ArrowLeft")
	param(strconv.FormatInt(at-1, 10))
	b.Key("ArrowRight")
	param(strconv.FormatInt(at, 10))
	b.Key("Shift+ArrowLeft")
	param(strconv.FormatInt(at-60, 10))
	b.Key("Shift+ArrowRight")
	param(strconv.FormatInt(at, 10))
	b.WaitText(".root-blocker", "blocks 3 sessions")
	b.Key("Space")
	b.Until("it plays", func() error {
		if n, err := strconv.ParseInt(b.Param("at"), 10, 64); err != nil || n <= at {
			return fmt.Errorf("it is at %q", b.Param("at"))
		}
		return nil
	})
	b.Key("Space")
	b.ClickText("Back to now")
	param("")
}

// TestMomentsThatAreNot asks for moments that are not kept, not yet, or no moments.
func TestMomentsThatAreNot(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	refusals(b, "404", `state\?`)
	visit(b, "/activity?target=shop&at=1000000000")
	b.Wait("No data for")
	b.Wait("Nearest times with data")
	b.Axe("main")
	b.Shot("now-beyond")
	b.Click(".choices a")
	b.Wait("Statements")
	b.WaitGone("No data for")
	visit(b, fmt.Sprintf("/activity?target=shop&at=%d", time.Now().Unix()+86400))
	b.Wait("is in the future")
	b.Wait("Statements")
	visit(b, "/activity?target=shop&at=soon%3Cscript%3E")
	b.Wait("cannot be read")
	b.Wait("Statements")
	visit(b, "/activity?target=shop&session=999999999")
	b.Wait("No longer connected")
	visit(b, "/activity?target=gone&at=5")
	b.Wait("The inventory has no target")
	visit(b, "/activity?target=down")
	b.Wait("did not answer at")
	b.Shot("now-down")
}

// TestInnodbStatus shows the server's own text by its sections.
func TestInnodbStatus(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/activity?target=shop&tab=innodb")
	b.Wait("BUFFER POOL AND MEMORY")
	b.Wait("Trx id counter")
	b.Axe("main")
	b.Shot("now-innodb")
}

// TestKillFromThePage ends the session that holds everybody up: the page asks first and says what it rolls back, and
// the journal has it.
func TestKillFromThePage(t *testing.T) {
	s := stage(t)
	root, _, free := s.pile(t, "killed")
	t.Cleanup(free)
	b := s.Browser(t)
	visit(b, fmt.Sprintf("/activity?target=shop&session=%d", root))
	b.ClickText("Kill…")
	b.WaitText("dialog", "1 modified rows")
	b.Shot("now-kill")
	b.Phone()
	b.Shot("now-kill-phone")
	b.Laptop()
	b.Click("dialog .dialog-foot button:last-of-type")
	b.WaitGone("dialog")
	eventually(t, "the session is gone", func() error {
		var n int
		if err := s.DB.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", root).
			Scan(&n); err != nil || n != 0 {
			return fmt.Errorf("%d sessions, %w", n, err)
		}
		return nil
	})
	visit(b, "/changes?target=shop")
	b.WaitText("table", fmt.Sprintf("session %d of root@localhost killed", root))
}
