package capture_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestDigest holds the counts of a window against the server's own.
func TestDigest(t *testing.T) {
	s := start(t, "18", orders...)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- repeat(ctx, s, lookUp) }()
	r, sources, err := capture.Digest(t.Context(), open(t, s, pgserver.Superuser), capture.DigestOptions{
		Window: 2 * time.Second, Limit: digest.Limit{Count: 1}, Explain: true,
	})
	stop()
	if end := <-done; err != nil || end != nil {
		t.Fatal(err, end)
	}
	if len(r.Classes) != 1 || r.Classes[0].Fingerprint != `select id, note from "Orders" where customer = ?` ||
		r.Classes[0].Item != "SELECT Orders" || r.Classes[0].Attributes["rows_sent"].Avg != 10 {
		t.Fatalf("%+v", r)
	}
	if plan := strings.Join(r.Classes[0].Plan, "\n"); !strings.Contains(plan, `Seq Scan on "Orders"`) ||
		!strings.Contains(plan, "(customer = $1)") {
		t.Errorf("plan %s", plan)
	}
	n := s.Value(t, database, `SELECT sum(calls) >= `+strconv.FormatUint(r.Classes[0].Count, 10)+
		` FROM pg_stat_statements WHERE query LIKE '%"Orders" WHERE customer%'`)
	if n != "t" || r.Classes[0].Count == 0 || len(sources) != 1 || r.Global.QPS.Or(0) <= 0 {
		t.Errorf("%d calls, %+v, %+v", r.Classes[0].Count, sources, r.Global)
	}
	none := pgserver.Start(t, "17")
	none.Exec(t, "postgres", "CREATE DATABASE "+database)
	_, _, err = capture.Digest(t.Context(), open(t, none, pgserver.Superuser),
		capture.DigestOptions{Window: time.Second})
	if err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION") {
		t.Errorf("without the extension: %v", err)
	}
}

// TestDenied looks with an account that may see nothing of others.
func TestDenied(t *testing.T) {
	s := start(t, "17", append([]string{"CREATE ROLE plain LOGIN", "SELECT 1"}, orders...)...)
	snap, err := capture.Take(t.Context(), open(t, s, "plain"), capture.Options{Window: capture.MinWindow})
	if err != nil {
		t.Fatal(err)
	}
	if x := snap.Source("digests"); x.State != "denied" || x.Fix != `GRANT pg_monitor TO "plain"` {
		t.Errorf("%+v", x)
	}
	if len(snap.Tables) != 1 || snap.Tables[0].Columns[1].Distinct.OK() {
		t.Errorf("statistics of a table that it may not read: %+v", snap.Tables)
	}
}
