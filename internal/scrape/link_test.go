package scrape

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"dyno/internal/sqltext"
	"dyno/test/servers"
)

// TestAHangingStatementIsNotLeftBehind gives a statement up and looks whether the server goes on with it.
func TestAHangingStatementIsNotLeftBehind(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			l := &link{t: open(t, s, "root")}
			defer l.close()
			nothing := func([]driver.Value) {}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := l.Query(ctx, sqltext.Tagged("scrape", "test", "SELECT 1"), nothing); err != nil {
				t.Fatal(err)
			}
			if l.way <= 0 || l.Generation() != 1 {
				t.Errorf("the way takes %v on connection %d", l.way, l.Generation())
			}
			id := l.s.ID()
			short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := l.Query(short, sqltext.Tagged("scrape", "test", "SELECT SLEEP(60)"), nothing); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("it came back with %v", err)
			}
			used := l.used
			if used.server < 200*time.Millisecond || used.statements != 2 {
				t.Errorf("the server's time for what was given up is not counted: %+v", used)
			}
			if n, err := l.Query(ctx, sqltext.Tagged("scrape", "test", "SELECT 1"), nothing); n != 1 || err != nil || l.Generation() != 2 || l.s.ID() == id {
				t.Fatalf("%d rows, %v, connection %d", n, err, l.Generation())
			}
			for {
				there := false
				if _, err := l.Query(ctx, sqltext.Tagged("scrape", "test", "SELECT ID, INFO FROM information_schema.PROCESSLIST"), func(row []driver.Value) {
					there = there || strings.Contains(string(text(row[1])), "SLEEP(60)")
				}); err != nil {
					t.Fatal(err)
				}
				if !there {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}

// TestNobodyElseIsKilled leaves the number of somebody else's connection behind.
func TestNobodyElseIsKilled(t *testing.T) {
	s := servers.Start(t, "mariadb")
	c, err := s.DB(t, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var id uint64
	if err := c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	l := &link{t: open(t, s, "root"), left: id}
	defer l.close()
	if err := l.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.left != 0 {
		t.Error("it would try again and again")
	}
	if err := c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Errorf("the other connection is gone: %v", err)
	}
}
