package change

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// TestKill ends a session that holds a row, and none that is not the one meant.
func TestKill(t *testing.T) {
	b := start(t, "17")
	pid, _ := b.begin("DELETE FROM " + quoted + " WHERE id = 1")
	var began time.Time
	if err := b.c.QueryRow(t.Context(), "SELECT backend_start FROM pg_stat_activity WHERE pid = $1", pid).
		Scan(&began); err != nil {
		t.Fatal(err)
	}
	const there = "SELECT count(*)::text FROM pg_stat_activity WHERE pid = $1"
	f := func(s change.Session, want string) {
		t.Helper()
		_, err := b.x.Kill(t.Context(), b.j, journal.Entry{ID: "a-1"}, s)
		if !errors.Is(err, change.ErrNotThatSession) || !strings.Contains(err.Error(), want) ||
			b.one(there, pid) != "1" {
			t.Errorf("%+v: %v", s, err)
		}
	}
	id := uint64(pid)
	f(change.Session{ID: id, User: "app", Began: began}, "it is one of postgres, not of app")
	f(change.Session{ID: id, User: "postgres", Began: began.Add(-time.Microsecond)}, "has its number now")
	f(change.Session{ID: 1 << 22, User: "postgres", Began: began}, "no longer connected")
	_, err := b.x.Kill(t.Context(), b.j, journal.Entry{ID: "a-1"}, change.Session{ID: id, User: "postgres"})
	if conn.KindOf(err) != endpoint.Unsupported || !strings.Contains(err.Error(), "from the web UI yet") ||
		conn.HintOf(err) != fmt.Sprintf("execute in psql: SELECT pg_terminate_backend(%d)", id) ||
		b.one(there, pid) != "1" {
		t.Errorf("without the time: %v; %s", err, conn.HintOf(err))
	}
	var own uint64
	var at time.Time
	if err := b.c.QueryRow(t.Context(), "SELECT pid, backend_start FROM pg_stat_activity WHERE backend_type = "+
		"'checkpointer'").Scan(&own, &at); err != nil {
		t.Fatal(err)
	}
	f(change.Session{ID: own, Began: at}, "the server itself")
	if _, err := b.j.Entry(t.Context(), "a-1"); err == nil {
		t.Error("the journal has an entry of what was refused")
	}
	s := change.Session{ID: id, User: "postgres", Began: began}
	e, err := b.x.Kill(t.Context(), b.j, journal.Entry{ID: "a-1", Target: "shop"}, s)
	if err != nil || e.State != journal.Done || b.one(there, pid) != "0" {
		t.Fatalf("%+v, %v", e, err)
	}
	b.kept("a-1", e)
	if _, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{}); err == nil ||
		!strings.Contains(err.Error(), "cannot be restored") {
		t.Errorf("undo: %v", err)
	}
}
