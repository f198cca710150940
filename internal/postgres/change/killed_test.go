package change

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestMain is also the Dyno that TestKilled kills: it applies an action under the id, to the server and with the
// journal that its environment names.
func TestMain(m *testing.M) {
	id := os.Getenv("DYNO_TEST_APPLY")
	if id == "" {
		os.Exit(m.Run())
	}
	l, err := ledger.Open(context.Background(), os.Getenv("DYNO_TEST_LEDGER"))
	if err == nil {
		var t *conn.Target
		spec := shop(os.Getenv("DYNO_TEST_SOCKET"), pgserver.Superuser)
		if t, err = conn.Open(context.Background(), spec); err == nil {
			_, err = change.Apply(context.Background(), On(t), l, journal.Entry{ID: id, Action: adds("k", "customer")},
				change.Options{}, nil, nil)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func shop(socket, user string) endpoint.Spec {
	return endpoint.Spec{
		Name: "shop", Scheme: "postgres", Network: "unix", Address: socket, User: user, Database: "shop",
	}
}

// TestKilled kills Dyno while the server builds an index. The server goes on; what became of the build is asked of it.
func TestKilled(t *testing.T) {
	b := start(t, "17")
	kill := func(id string) journal.Entry {
		t.Helper()
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "DYNO_TEST_APPLY="+id, "DYNO_TEST_LEDGER="+b.ledger, "DYNO_TEST_SOCKET="+b.Socket)
		var out strings.Builder
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		b.until(waits)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		e, err := b.j.Entry(t.Context(), id)
		if err != nil || e.State != journal.Running || e.Action.Undo == "" {
			t.Fatalf("%v, the journal has %+v; it said %s", err, e, &out)
		}
		return e
	}
	_, end := b.begin("SELECT count(*) FROM pg_class")
	e := kill("a-1")
	u, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{})
	if err != nil || !has(u.Blockers, "still working") {
		t.Errorf("%+v, %v", u, err)
	}
	end()
	b.until("SELECT NOT EXISTS (SELECT FROM pg_stat_progress_create_index)")
	if e, err := b.undo("a-1"); err != nil || e.State != journal.Undone || b.indexes() != "" ||
		!strings.Contains(e.Notes[len(e.Notes)-2].Text, "the server has made the change") {
		t.Errorf("%v, %+v, %s", err, e, b.indexes())
	}

	_, end = b.begin("SELECT count(*) FROM pg_class")
	kill("a-2")
	b.one("SELECT pg_terminate_backend(pid)::text FROM pg_stat_progress_create_index")
	b.until("SELECT NOT EXISTS (SELECT FROM pg_stat_progress_create_index)")
	if !strings.HasPrefix(b.indexes(), "invalid") {
		t.Fatal(b.indexes())
	}
	end()
	if e, err := b.apply("a-3", adds("k", "customer")); err != nil || e.State != journal.Done || !has(b.notes,
		"was dropped") || strings.Contains(b.indexes(), "invalid") {
		t.Errorf("%v, %+v, %q, %s", err, e, b.notes, b.indexes())
	}
	if _, err := b.undo("a-2"); err == nil || !strings.Contains(err.Error(), "dyno undo a-3") {
		t.Errorf("the index of a later action: %v", err)
	}
}
