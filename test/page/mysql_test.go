package page

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// onMySQL is a stage of the test's own whose target "shop" is a MySQL, which somebody asks a trifle ten times a second.
func onMySQL(t *testing.T) *Stage {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server and a real browser")
	}
	db := servers.Start(t, "mysql", "performance_schema=ON", "max_connections=77")
	db.Exec(t, "CREATE DATABASE shop")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	pool := db.DB(t, "shop")
	go func() { // of no statements there is no time to tell
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = pool.ExecContext(ctx, "SELECT 1 + 1")
			}
		}
	}()
	home := folder(t)
	try(t, home, "target", "add", "shop", db.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "shop")
	return &Stage{t: t, DB: db.DB(t, "shop"), URL: p.URL, Home: home, Server: db}
}

// in is the same stage for a part of the test.
func (s *Stage) in(t *testing.T) *Stage {
	x := *s
	x.t = t
	return &x
}

// TestMySQL puts facts into a MySQL and looks for them where the other tests do on MariaDB.
func TestMySQL(t *testing.T) {
	s := onMySQL(t)

	t.Run("overview", func(t *testing.T) {
		s := s.in(t)
		b := s.Browser(t)
		visit(b, "/overview?target=shop&from=-5m")
		b.WaitText(".sv-strip", "mysql")
		for panel, legend := range map[string]string{
			"throughput":  "statements",
			"latency":     "mean",
			"connections": "limit 77",
		} {
			b.Wait("#panel-" + panel + " canvas")
			b.WaitText("#panel-"+panel+" .plot-legend", legend)
		}
		b.Until("figures of this second", func() error {
			f := b.Texts(".sv-strip .figure")
			if len(f) < 4 || strings.Contains(strings.Join(f[:4], ""), "–") {
				return fmt.Errorf("%q", f)
			}
			return nil
		})
		inBoth(b, "mysql-server")
	})
	t.Run("activity", func(t *testing.T) {
		s := s.in(t)
		b := s.Browser(t)
		root, waiters, free := s.pile(t, "piles")
		visit(b, "/activity?target=shop")
		b.Until("the root blocker is named", func() error {
			if lines := strings.Join(b.Texts(".root-blocker"), "\n"); !strings.Contains(lines,
				fmt.Sprintf("Session %d ", root)) || !strings.Contains(lines, "blocks 3 sessions") {
				return fmt.Errorf("%q", lines)
			}
			return nil
		})
		b.WaitText("main .table", fmt.Sprintf("waits for %d", root))
		visit(b, fmt.Sprintf("/activity?target=shop&tab=transactions&session=%d", waiters[0]))
		b.WaitText("aside.session", fmt.Sprintf("for session %d", root))
		b.WaitText("aside.session", "row lock")
		b.WaitText("main .table", "LOCK WAIT")
		free()
		visit(b, "/activity?target=shop&tab=innodb")
		b.Wait("Trx id counter")
		visit(b, "/activity?target=shop")
		b.WaitGone("blocks 3 sessions")
	})
	s.callBimodal(t, bimodals) // its minute is that of the known class
	t.Run("queries", func(t *testing.T) { s.in(t).knownClass(t) })
	t.Run("latency", func(t *testing.T) { latencyBands(t, s.in(t)) })
}
