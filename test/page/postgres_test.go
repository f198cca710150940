package page

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// onPostgres returns a PostgreSQL 17 under a small load and the `dyno serve` that watches it as target "shop". A
// session holds a transaction with a row lock open, another one waits for the lock; holder and waiter are their
// process ids.
func onPostgres(t *testing.T) (s *pgserver.Server, p *Serve, holder, waiter uint32) {
	t.Helper()
	s = pgserver.Start(t, "17", "max_connections=77")
	s.Exec(t, "postgres", "CREATE DATABASE shop")
	s.Exec(t, "shop", "CREATE EXTENSION pg_stat_statements",
		"CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, total int NOT NULL)",
		"INSERT INTO orders SELECT i, i % 1000, i FROM generate_series(1, 20000) i", "ANALYZE orders")
	steady, hold, wait := s.Conn(t, "shop"), s.Conn(t, "shop"), s.Conn(t, "shop") // closed after what follows
	ctx, cancel := context.WithCancel(context.Background())
	cleanup := make(chan struct{}, 2) // of each goroutine that ended
	running := 0
	t.Cleanup(func() {
		cancel()
		for range running {
			<-cleanup
		}
	})
	background := func(f func()) {
		running++
		go func() { defer func() { cleanup <- struct{}{} }(); f() }()
	}
	background(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, _ = steady.Exec(ctx, "UPDATE orders SET total = total + 1 WHERE id = $1", 2+i%1000)
			if i%10 == 0 {
				_, _ = steady.Exec(ctx, "SELECT sum(total) FROM orders WHERE customer = $1", i%1000)
			}
		}
	})
	const lock = "UPDATE orders SET total = 0 WHERE id = 1"
	if _, err := hold.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	background(func() { _, _ = wait.Exec(ctx, lock, pgx.QueryExecModeSimpleProtocol) })

	home := folder(t)
	try(t, home, "target", "add", "shop", fmt.Sprintf("postgres://%s@127.0.0.1:%d/shop", s.User, s.Port))
	p = serve(t, home)
	p.waitUp(t, "shop")
	return s, p, hold.PgConn().PID(), wait.PgConn().PID()
}

// others are words of other servers, which no page of a PostgreSQL may show.
var others = regexp.MustCompile(`(?i)innodb|mysql|mariadb|my\.cnf|performance_schema|history list|\bredo\b|\bundo log`)

// ofPostgres holds a page of a PostgreSQL to what every one of them promises, its tooltips too.
func ofPostgres(t *testing.T, b *browser.Tab, p place) {
	t.Helper()
	sound(t, b, p)
	var texts []string
	b.Eval(`[document.querySelector('main').innerText,
		...[...document.querySelectorAll('main [title]')].map((e) => e.title)].join('\n').split('\n')`, &texts)
	for _, l := range texts {
		if others.MatchString(l) {
			t.Errorf("%s shows %q", p.name, l)
		}
	}
	if n := b.Count(".problem"); n != 0 {
		t.Errorf("%s has %d errors", p.name, n)
	}
	b.ShotAll("postgres-" + p.name)
}

// TestPostgres puts facts into a PostgreSQL, looks for them on every page of it, and for reasons where there is none.
func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server and a real browser")
	}
	s, p, holder, waiter := onPostgres(t)
	session, locked := fmt.Sprintf("Session %d", holder), fmt.Sprintf("waits for %d", holder)
	f := func(name, path, title string, look func(b *browser.Tab)) {
		t.Run(name, func(t *testing.T) {
			b := tab(t, p.URL)
			visit(b, path)
			look(b)
			ofPostgres(t, b, place{name, path, title})
		})
	}
	f("overview", "/overview?target=shop&from=-5m", "Overview", func(b *browser.Tab) {
		b.WaitText(".sv-strip", "postgres 17")
		for panel, legend := range map[string]string{
			"throughput": "transactions", "latency": "mean", "connections": "limit 77", "waiting": "row locks",
			"transaction": "oldest", "misses": "misses", "redo": "written",
		} {
			b.Wait("#panel-" + panel)
			b.WaitText("#panel-"+panel+" .plot-legend", legend)
		}
		b.Until("figures of this second", func() error {
			all := b.Texts(".sv-strip .figure")
			if text := strings.Join(all, "; "); len(all) < 8 || strings.Contains(text, "–") ||
				!strings.Contains(text, "Lock waiters 1") {
				return fmt.Errorf("%q", all)
			}
			return nil
		})
		b.Wait("Replication unavailable: this server is not a standby")
	})
	f("sessions", "/activity?target=shop", "Activity", func(b *browser.Tab) {
		b.WaitText(".root-blocker", session)
		b.WaitText(".root-blocker", "blocks 1 session")
		b.WaitText("main .table", locked)
		b.Until("what runs is on the timeline", func() error {
			if l := b.Text(".player"); strings.Contains(l, "running, max 0") {
				return fmt.Errorf("%q", l)
			}
			return nil
		})
	})
	f("session", fmt.Sprintf("/activity?target=shop&tab=transactions&session=%d", waiter), "Activity",
		func(b *browser.Tab) {
			b.WaitText("main .table", "LOCK WAIT")
			b.WaitText("aside.session", fmt.Sprintf("for session %d", holder))
			b.WaitText("aside.session", "public.orders")
			b.WaitText("aside.session", "Copy terminate")
		})
	f("locks", "/activity?target=shop&tab=locks", "Activity", func(b *browser.Tab) {
		b.WaitText(".root-head", session)
		b.WaitText(".root-head", "Last statement: UPDATE orders")
	})
	f("status", "/activity?target=shop&tab=innodb", "Activity", func(b *browser.Tab) { // of another server's address
		b.WaitText("main .table", locked)
	})
	f("queries", "/queries?target=shop&from=-5m", "Queries", func(b *browser.Tab) {
		b.Wait("update orders set total = total + ?")
		b.Wait("select sum(total) from orders")
	})
	f("findings", "/findings?target=shop", "Findings", func(b *browser.Tab) {
		b.Wait("has not been diagnosed yet")
		b.ClickText("Diagnose")
		b.WaitText(".verdict-line", "1 open finding")
		b.Wait(fmt.Sprintf("locks of session %d", holder))
		b.Wait("pg_terminate_backend")
		b.Wait("unavailable: PostgreSQL does not count it")
		b.WaitGone("were not read")
	})
	f("changes", "/changes?target=shop", "Changes", func(b *browser.Tab) { b.Wait("No changes yet") })
	f("overhead", "/overhead?target=shop", "Overhead", func(b *browser.Tab) {
		b.Wait("pg_stat_database, and restarts")
		b.Wait("statement_totals")
	})
	f("settings", "/settings", "Settings", func(b *browser.Tab) {
		b.WaitText(".grants", "GRANT pg_monitor TO")
		b.WaitText("main .table", ".pgpass")
		b.Wait("pg_settings, and what changes in them")
	})
	f("fleet", "/", "Fleet", func(b *browser.Tab) {
		b.WaitText("main .cards", "postgres 17")
		b.Until("its figures are known", func() error {
			all := b.Texts("main .cards dd")
			if len(all) < 4 || slices.Contains(all, "–") || b.Count("main .course .spark-line") == 0 {
				return fmt.Errorf("%q", all)
			}
			return nil
		})
	})
	s.Exec(t, "shop", "CREATE ROLE blind LOGIN")
	try(t, p.home, "target", "add", "blind", fmt.Sprintf("postgres://blind@127.0.0.1:%d/shop", s.Port))
	p.waitUp(t, "blind")
	f("denied", "/activity?target=blind&tab=transactions", "Activity", func(b *browser.Tab) {
		b.Wait("GRANT pg_monitor TO")
		b.Wait("Transactions: unavailable")
		b.WaitText(".player", "running, max –")
	})
}
