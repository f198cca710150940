package capture

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestRedactedDeadlock holds a real report on a deadlock against what is kept of it.
func TestRedactedDeadlock(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, note VARCHAR(80))",
				"INSERT INTO d.t VALUES (1, '"+secret+"'), (2, '"+secret+"')")
			deadlock(t, s)
			x := open(t, s, "root")
			for _, redacted := range []bool{false, true} {
				snap, err := Take(context.Background(), x, Options{Window: MinWindow, Redact: redacted})
				if err != nil {
					t.Fatal(err)
				}
				text := snap.Moments[len(snap.Moments)-1].EngineStatus
				for _, want := range []string{"LATEST DETECTED DEADLOCK", "WE ROLL BACK TRANSACTION", "`d`.`t`"} {
					if !strings.Contains(text, want) {
						t.Errorf("redacted %v: no %q in\n%s", redacted, want, text)
					}
				}
				if strings.Contains(text, secret) == redacted || redacted && strings.Contains(text, "hex") {
					t.Errorf("redacted %v:\n%s", redacted, text)
				}
			}
		})
	}
}

// deadlock makes two sessions wait for each other.
func deadlock(t *testing.T, s *servers.Server) {
	t.Helper()
	ctx := context.Background()
	db := s.DB(t, "d")
	a, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	up := func(id int) string {
		return fmt.Sprintf("UPDATE t SET note = CONCAT(note, '%s\nTRANSACTION 12, ACTIVE 3 sec %s') WHERE id = %d",
			secret, secret, id)
	}
	if _, err := a.Exec(up(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(up(2)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := a.Exec(up(2)); done <- err }()
	_, errB := b.Exec(up(1))
	if errA := <-done; (errA == nil) == (errB == nil) {
		t.Fatalf("no deadlock: %v, %v", errA, errB)
	}
	a.Rollback()
	b.Rollback()
}
