package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestKill ends a session that holds a row: it is gone, and the journal has it. One that is not who was meant is left
// alone.
func TestKill(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			s.Exec(t, "CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY) ENGINE=InnoDB",
				"INSERT INTO app.t VALUES (1)")
			c, err := s.DB(t, "app").Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var id uint64
			if _, err := c.ExecContext(t.Context(), "BEGIN"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.ExecContext(t.Context(), "DELETE FROM t"); err != nil {
				t.Fatal(err)
			}
			if err := c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			j := newJournal(t)
			for user, why := range map[string]string{"somebody": "one of root, not of somebody", "": "one of root"} {
				if _, err := Kill(t.Context(), x, j, journal.Entry{ID: "a-1"}, id, user); !errors.Is(err,
					ErrNotThatSession) || !strings.Contains(err.Error(), why) {
					t.Errorf("as %q: %v", user, err)
				}
			}
			if _, err := Kill(t.Context(), x, j, journal.Entry{ID: "a-1"}, id+1_000_000, "root"); !errors.Is(err,
				ErrNotThatSession) || !strings.Contains(err.Error(), "no longer connected") {
				t.Errorf("nobody: %v", err)
			}
			if err := c.PingContext(t.Context()); err != nil {
				t.Fatalf("it was killed for another: %v", err)
			}
			e, err := Kill(t.Context(), x, j, journal.Entry{ID: "a-1", Target: "shop"}, id, "root")
			if err != nil || e.State != journal.Done || e.Action.SQL == "" {
				t.Fatalf("%+v, %v", e, err)
			}
			if kept, err := j.Entry(t.Context(), "a-1"); err != nil || kept.State != journal.Done ||
				kept.Action.Was != "root@localhost" {
				t.Errorf("the journal has %+v, %v", kept, err)
			}
			if err := c.PingContext(t.Context()); err == nil {
				t.Error("the session goes on")
			}
			if _, err := PreviewUndo(t.Context(), x, j, e, Options{}); err == nil ||
				!strings.Contains(err.Error(), "cannot be restored") {
				t.Errorf("undo: %v", err)
			}
		})
	}
}
