package observe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestIncidentOutlivesAKill ends serve with kill -9 in the middle of a lock pile-up: the incident is on the disk with
// the states of its worst seconds, is the same one to the next serve, and its end is observed.
func TestIncidentOutlivesAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	s := servers.Start(t, "mariadb", "innodb_lock_wait_timeout=1000")
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
		"INSERT INTO shop.stock VALUES (1, 10)")
	home := t.TempDir()
	run(t, home, "target", "add", "shop", s.URL("root"))
	p, base := serve(t, home, "--judge", "0")

	db := s.DB(t, "shop")
	ctx, end := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer end()
	blocker, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE stock SET n = n - 1 WHERE id = 1"
	if _, err := blocker.ExecContext(ctx, update); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		waiting.Go(func() { _, _ = db.ExecContext(ctx, update) })
	}

	type detail struct {
		incident.Incident
		Kept []time.Time
	}
	// only returns the incident of the target with what is kept of it.
	only := func() (x detail, err error) {
		var all struct{ Incidents []incident.Incident }
		b, err := get(t, base+"/api/dyno/v1/incidents?target=shop")
		if err == nil {
			err = json.Unmarshal(b, &all)
		}
		if err != nil || len(all.Incidents) != 1 {
			return x, fmt.Errorf("%d incidents, %w: %s", len(all.Incidents), err, b)
		}
		if b, err = get(t, base+"/api/dyno/v1/incident?id="+all.Incidents[0].ID); err == nil {
			err = json.Unmarshal(b, &x)
		}
		return x, err
	}
	locks := func(x detail) incident.Condition {
		i := slices.IndexFunc(x.Conditions, func(c incident.Condition) bool { return c.Kind == event.Locks })
		if i < 0 {
			return incident.Condition{}
		}
		return x.Conditions[i]
	}
	var x detail
	eventually(t, "the pile-up is an incident whose seconds are kept", func() (err error) {
		if x, err = only(); err == nil && (!x.Open || !locks(x).Open || len(x.Kept) < 3) {
			err = fmt.Errorf("%+v", x)
		}
		return err
	})
	p.kill()

	var left incident.Incident
	out := run(t, home, "incidents", "shop", "--output", "json")
	if err := json.Unmarshal([]byte(out), &left); err != nil || left.ID != x.ID || !left.Open {
		t.Errorf("without serve: %v, %s", err, out)
	}
	if out := run(t, home, "incidents", "show", x.ID); !strings.Contains(out, "Worst second: ") {
		t.Errorf("without serve: %s", out)
	}
	run(t, home, "store", "check")

	p, base = serve(t, home, "--judge", "0")
	kept := x.Kept[0]
	eventually(t, "the same incident goes on", func() error {
		y, err := only()
		if err == nil && (y.ID != x.ID || !y.Open || y.Cut || locks(y).Times < 2 || !y.To.After(x.To)) {
			err = fmt.Errorf("%+v", y)
		}
		return err
	})
	if err := blocker.Rollback(); err != nil {
		t.Error(err)
	}
	eventually(t, "its end is observed", func() error {
		y, err := only()
		if err == nil && (y.Open || y.Cut || !y.From.Equal(x.From)) {
			err = fmt.Errorf("%+v", y)
		}
		if err == nil && !slices.ContainsFunc(y.Kept, kept.Equal) {
			t.Errorf("%v was kept before, now %v", kept, y.Kept)
		}
		return err
	})
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.text())
	}
	run(t, home, "store", "check")
}
