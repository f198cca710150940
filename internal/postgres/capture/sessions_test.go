package capture_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// stock is a table of which everybody wants row 1.
var stock = []string{
	"CREATE TABLE stock (id int PRIMARY KEY, pieces int)",
	"INSERT INTO stock SELECT n, 0 FROM generate_series(1, 1000) n", "ANALYZE stock",
}

// observe is under with a scraper.
func observe(t *testing.T, s *pgserver.Server, window time.Duration,
	run ...client,
) *snapshot.Snapshot {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	for _, f := range run {
		g.Go(func() error { return repeat(ctx, s, f) })
	}
	snap, err := capture.Observe(ctx, open(t, s, pgserver.Superuser), capture.Options{Window: window})
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestIdleTransaction(t *testing.T) {
	s := start(t, "17", stock...)
	c := s.Conn(t, database)
	if _, err := c.Exec(t.Context(), "BEGIN; UPDATE stock SET pieces = 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	wait := func(ctx context.Context, c *pgx.Conn, _ int) error {
		_, err := c.Exec(ctx, "UPDATE stock SET pieces = pieces + 1 WHERE id = 1")
		return err
	}
	snap := observe(t, s, 6*time.Second, wait, wait, wait)
	f, ok := find(t, snap, "idle-transaction")
	if !ok {
		b, _ := snap.Encode()
		t.Fatalf("no finding in %s", b)
	}
	text := strings.Join(texts(f), "\n")
	t.Log(text)
	for _, want := range []string{
		fmt.Sprintf("SELECT pg_terminate_backend(%d)", c.PgConn().PID()), "lock_timeout", "UPDATE stock SET pieces = 1",
		"idle_in_transaction_session_timeout",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	silentAboutMySQL(t, f)
}

func silentAboutMySQL(t *testing.T, f finding.Finding) {
	t.Helper()
	text := strings.Join(texts(f), "\n")
	for _, word := range []string{"InnoDB", "innodb", "MySQL", "MariaDB", "KILL ", "my.cnf", "`"} {
		if strings.Contains(text, word) {
			t.Errorf("%q in\n%s", word, text)
		}
	}
}

func TestLockPileup(t *testing.T) {
	s := start(t, "17", stock...)
	hot := func(ctx context.Context, c *pgx.Conn, _ int) error {
		_, err := c.Exec(ctx, "BEGIN; UPDATE stock SET pieces = pieces + 1 WHERE id = 1; SELECT pg_sleep(0.05); COMMIT")
		return err
	}
	snap := observe(t, s, 5*time.Second, hot, hot, hot, hot, hot, hot)
	f, ok := find(t, snap, "lock-pileup")
	if !ok || len(f.Subject.Tables) != 1 || f.Subject.Tables[0].Table != "stock" {
		b, _ := snap.Encode()
		t.Fatalf("%+v in %s", f, b)
	}
	t.Log(strings.Join(texts(f), "\n"))
	silentAboutMySQL(t, f)
}

func TestConnectionsFull(t *testing.T) {
	s := pgserver.Start(t, "17", "max_connections=20")
	s.Exec(t, "postgres", "CREATE DATABASE "+database)
	for range 17 - 3 { // those of the superuser are apart
		s.Conn(t, database)
	}
	for range 3 {
		s.Conn(t, database)
	}
	snap := observe(t, s, capture.MinWindow)
	_, all := judged.Findings(snap)
	if len(all) != 1 || all[0].Rule != "connections-full" {
		t.Fatalf("%+v", all)
	}
	t.Log(strings.Join(texts(all[0]), "\n"))
	silentAboutMySQL(t, all[0])
	if x := snap.Source(source.Digests); x.State != source.Missing || !strings.Contains(x.Fix, "CREATE EXTENSION") {
		t.Errorf("%+v", x)
	}
}

// TestHealthyServer has a server at work that nothing is wrong with.
func TestHealthyServer(t *testing.T) {
	s := start(t, "17", orders...)
	byID := each(`SELECT note FROM "Orders" WHERE id = $1`, func(n int) []any { return []any{n%200000 + 1} })
	calm := func(ctx context.Context, c *pgx.Conn, n int) error {
		err := byID(ctx, c, n)
		time.Sleep(5 * time.Millisecond) // a client that thinks
		return err
	}
	snap := observe(t, s, 4*time.Second, calm)
	symptoms, all := judged.Advise(snap, "session", "index", "schema", "config") // the machine has other work, too
	all = slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Severity == finding.Fact })
	if len(all) > 0 {
		t.Errorf("findings: %+v", all)
	}
	for _, x := range symptoms {
		t.Logf("%+v", x)
	}
	if snap.Host.ServerPID != s.PID || !snap.Target.Local || len(snap.Series) == 0 || len(snap.Moments) == 0 {
		t.Errorf("pid %d, want %d, %d series, %d moments", snap.Host.ServerPID, s.PID, len(snap.Series),
			len(snap.Moments))
	}
	for _, c := range snap.Classes {
		if c.Fingerprint != `select note from "Orders" where id = ?` {
			t.Errorf("a class of nobody: %s", c.Fingerprint)
		}
	}
	for _, x := range snap.Sources {
		if x.State != source.OK {
			t.Logf("%+v", x)
		}
	}
}
