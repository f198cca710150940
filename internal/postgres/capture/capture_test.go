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

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// database is the one that tests make.
const database = "shop"

// start starts a server with a database that the statements fill.
func start(t *testing.T, version string, statements ...string) *pgserver.Server {
	t.Helper()
	s := pgserver.Start(t, version)
	s.Exec(t, "postgres", "CREATE DATABASE "+database)
	s.Exec(t, database, append([]string{"CREATE EXTENSION pg_stat_statements"}, statements...)...)
	return s
}

// open opens a server that a test filled, as Dyno's own sandboxes are: it is trusted.
func open(t *testing.T, s *pgserver.Server, user string) *conn.Target {
	t.Helper()
	spec := specOf(s, user)
	spec.ExplainSchemas = endpoint.AllSchemas
	return openSpec(t, spec)
}

// specOf is how a server is reached that is not trusted.
func specOf(s *pgserver.Server, user string) endpoint.Spec {
	return endpoint.Spec{
		Name: "test", Scheme: "postgres", Network: "unix", Address: s.Socket, User: user, Database: database,
	}
}

func openSpec(t *testing.T, s endpoint.Spec) *conn.Target {
	t.Helper()
	x, err := conn.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// client is what a session does over and over; n counts.
type client = func(ctx context.Context, c *pgx.Conn, n int) error

// under takes a snapshot while sessions run statements over and over.
func under(t *testing.T, s *pgserver.Server, o capture.Options, run ...client) *snapshot.Snapshot {
	t.Helper()
	return underBy(t, s, open(t, s, pgserver.Superuser), o, run...)
}

// underBy is under with a target of the caller's.
func underBy(t *testing.T, s *pgserver.Server, by *conn.Target, o capture.Options, run ...client,
) (snap *snapshot.Snapshot) {
	t.Helper()
	o.Window = capture.MinWindow
	repeatedly(t, s, func() {
		var err error
		if snap, err = capture.Take(t.Context(), by, o); err != nil {
			t.Fatal(err)
		}
	}, run...)
	return snap
}

// repeatedly calls f while sessions run statements over and over.
func repeatedly(t *testing.T, s *pgserver.Server, f func(), run ...client) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	for _, r := range run {
		g.Go(func() error { return repeat(ctx, s, r) })
	}
	defer func() {
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// repeat runs f in a session of its own until ctx ends.
func repeat(ctx context.Context, s *pgserver.Server, f client) error {
	c, err := pgx.Connect(ctx, s.DSN(pgserver.Superuser, database))
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for n := 0; ctx.Err() == nil; n++ {
		if err := f(ctx, c, n); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func find(t *testing.T, s *snapshot.Snapshot, rule string) (finding.Finding, bool) {
	t.Helper()
	_, all := judged.Advise(s, "session", "index", "host")
	i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Rule == rule })
	if i < 0 {
		return finding.Finding{}, false
	}
	return all[i], true
}

// orders is a table whose column customer has no index.
var orders = []string{
	`CREATE TABLE "Orders" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int NOT NULL, note text)`,
	`INSERT INTO "Orders" (customer, note) SELECT n % 20000, repeat('x', 60) FROM generate_series(1, 200000) n`,
	`ANALYZE "Orders"`,
}

func lookUp(ctx context.Context, c *pgx.Conn, n int) error {
	rows, err := c.Query(ctx, `SELECT id, note FROM "Orders" WHERE customer = $1`, n%20000)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

func TestMissingIndex(t *testing.T) {
	s := start(t, "17", orders...)
	snap := under(t, s, capture.Options{}, lookUp, lookUp)
	_, all := judged.Findings(snap)
	if len(all) == 0 || all[0].Rule != "missing-index" {
		b, _ := snap.Encode()
		t.Fatalf("findings: %+v\n%s", all, b)
	}
	f := all[0]
	const add = `CREATE INDEX CONCURRENTLY "idx_Orders_customer" ON "public"."Orders" ("customer")`
	if a := f.Action; a == nil || a.Kind != finding.AddIndex || a.SQL != add ||
		a.Undo != `DROP INDEX CONCURRENTLY "public"."idx_Orders_customer"` {
		t.Errorf("action %+v", f.Action)
	}
	if f.Confidence == finding.Possible || f.Share < 0.9 || f.Gain == nil || f.Gain.Lo < 5 {
		t.Errorf("%s, share %v, gain %+v", f.Confidence, f.Share, f.Gain)
	}
	b, err := snap.Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%+v", f.Title, f)
	for _, word := range []string{"InnoDB", "innodb", "ALTER TABLE", "`", "MySQL", "MariaDB", "Handler_"} {
		if text := strings.Join(texts(f), "\n"); strings.Contains(text, word) {
			t.Errorf("%q in\n%s", word, text)
		}
	}
	if strings.Contains(string(b), "dyno:") {
		t.Error("Dyno's own statements are in the snapshot")
	}

	s.Exec(t, database, add)
	snap = under(t, s, capture.Options{}, lookUp, lookUp)
	if _, all := judged.Findings(snap); len(all) > 0 {
		t.Errorf("with the index: %+v", all)
	}
	if len(snap.Plans) == 0 || snap.Plans[0].Steps[0].Key != "idx_Orders_customer" {
		t.Errorf("plans %+v", snap.Plans)
	}
}

// texts are the sentences of a finding.
func texts(f finding.Finding) []string {
	out := []string{f.Title, f.Cause, f.Suggestion, f.Cost, f.Falsify, f.Reference}
	for _, e := range f.Evidence {
		out = append(out, e.Text)
	}
	for _, r := range f.Why {
		out = append(out, r.Answer)
	}
	return slices.Concat(out, f.Against, f.Unobserved)
}

func TestIdleServer(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			snap := under(t, start(t, version, orders...), capture.Options{})
			symptoms, all := judged.Findings(snap)
			if len(all) > 0 {
				t.Errorf("findings %+v", all)
			}
			for _, x := range symptoms {
				if x.Kind != finding.NotObservable {
					t.Errorf("symptom %+v", x)
				}
			}
			if len(symptoms) == 0 {
				t.Error("without a scraper nothing is said to be unseen")
			}
			if len(snap.Classes) > 0 {
				t.Errorf("classes of nobody: %+v", snap.Classes)
			}
			if snap.Variables["max_connections"] != "100" || snap.Source(source.Digests).State != source.OK {
				t.Errorf("%v, %+v", snap.Variables["max_connections"], snap.Sources)
			}
		})
	}
}

// TestSessionEnded has the server end the session of the capture while the window lasts, as poolers do.
func TestSessionEnded(t *testing.T) {
	s := start(t, "17", orders...)
	ended := false
	snap := under(t, s, capture.Options{}, func(ctx context.Context, c *pgx.Conn, _ int) error {
		if ended {
			return lookUp(ctx, c, 1)
		}
		err := c.QueryRow(ctx, "SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity "+
			"WHERE application_name = $1 AND state = 'idle' AND query LIKE '%dyno:capture%shared_blks_hit%'",
			conn.Application).
			Scan(&ended)
		return err
	})
	if !ended {
		t.Fatal("no session was ended")
	}
	if snap.Source(source.Digests).State != source.OK || len(snap.Tables) != 1 || len(snap.Plans) == 0 {
		t.Errorf("%+v, %d tables, %d plans", snap.Sources, len(snap.Tables), len(snap.Plans))
	}
}

// TestServerGone has the server end during the window: there is no snapshot then.
func TestServerGone(t *testing.T) {
	s := start(t, "17", orders...)
	target := open(t, s, pgserver.Superuser)
	done := make(chan error, 1)
	go func() {
		_, err := capture.Take(t.Context(), target, capture.Options{Window: capture.MinWindow})
		done <- err
	}()
	s.Kill(t)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "test") {
		t.Errorf("%v", err)
	}
	if _, err := capture.Take(t.Context(), target, capture.Options{Window: 1}); err == nil ||
		!strings.Contains(err.Error(), "the minimum is 3s") {
		t.Errorf("a short window: %v", err)
	}
}

// brief is a target whose sessions the server ends as soon as they are open.
type brief struct {
	*conn.Target
	t *testing.T
	s *pgserver.Server
}

func (b brief) Conn(ctx context.Context) (*pgx.Conn, error) {
	c, err := b.Target.Conn(ctx)
	if err == nil {
		b.s.Exec(b.t, database, fmt.Sprintf("SELECT pg_terminate_backend(%d, 30000)", c.PgConn().PID()))
	}
	return c, err
}

// TestSessionGone: whoever knows no PostgreSQL sees by the kind of the error that the session broke.
func TestSessionGone(t *testing.T) {
	s := start(t, "17")
	b := brief{open(t, s, pgserver.Superuser), t, s}
	_, err := capture.Take(t.Context(), b, capture.Options{Window: capture.MinWindow})
	if endpoint.KindOf(err) != endpoint.Gone || !strings.HasPrefix(err.Error(), "observe test: ") {
		t.Errorf("%v: %v", endpoint.KindOf(err), err)
	}
	_, _, err = capture.Digest(t.Context(), b, capture.DigestOptions{Window: time.Second})
	if endpoint.KindOf(err) != endpoint.Gone || !strings.HasPrefix(err.Error(), "observe test: ") {
		t.Errorf("%v: %v", endpoint.KindOf(err), err)
	}
}
