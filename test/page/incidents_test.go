package page

import (
	"strings"
	"sync"
	"testing"
)

// TestIncidents plants a pile-up of row locks: the incident is the first thing on the server's page, open while it
// lasts, and opens with its begin and end on the graphs, its conditions, its findings and the states of its worst
// seconds.
func TestIncidents(t *testing.T) {
	s := stage(t)
	p := own(t, s, "--judge=1h")
	b := tab(t, p.URL)
	visit(b, "/overview?target=shop")
	b.WaitText(".sv-server", "Is it busy?")
	if b.Count(".sv-incidents") == 0 { // on a busy machine a server has been down for some seconds
		b.WaitText(".sv-no-incident", "No incidents in the last 30 days. Watched since")
		b.Shot("incidents-none")
	}

	s.Exec("CREATE TABLE heaped (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB", "INSERT INTO heaped VALUES (1, 1)")
	ctx := t.Context()
	blocker, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE heaped SET n = n + 1 WHERE id = 1"
	if _, err := blocker.ExecContext(ctx, update); err != nil {
		t.Fatal(err)
	}
	var waiters sync.WaitGroup
	for range 5 {
		waiters.Go(func() { _, _ = s.DB.ExecContext(ctx, update) })
	}
	t.Cleanup(func() {
		_ = blocker.Rollback()
		waiters.Wait()
		s.Exec("DROP TABLE heaped")
	})
	b.WaitText(".sv-incidents tr.sv-incident-open", "ock pile-up") // maybe with another condition before it
	b.WaitText(".sv-incidents tr.sv-incident-open", "open, ")
	b.WaitGone(".sv-no-incident")
	b.Wait(".sv-incidents a[href*='findings']") // of the diagnosis of that time
	b.Axe()
	b.Shot("incidents-open")
	if err := blocker.Rollback(); err != nil {
		t.Fatal(err)
	}
	waiters.Wait()
	b.WaitGone(".sv-incident-open")

	b.Click(".sv-incidents tbody tr:first-child a[href*='incident=']")
	b.WaitText(".sv-incident h2", "ock pile-up")
	b.WaitText(".sv-conditions", "5 sessions waited, blocked by session")
	b.WaitText(".sv-seconds", ":")
	b.WaitText(".sv-groups", "Is it busy?")
	b.Settle()
	b.Axe()
	b.Shot("incident")
	b.Phone()
	b.Shot("incident-phone")
	b.Laptop()
	b.Click(".sv-seconds li:has(.share-fill[style*='100%']) a") // one of the worst
	b.WaitURL("/activity")
	b.WaitText("main", "heaped")
	if out := try(t, p.home, "incidents", "shop"); !strings.Contains(out, "ock pile-up") {
		t.Errorf("dyno incidents: %s", out)
	} else {
		t.Log(out, try(t, p.home, "incidents", "show", strings.Fields(strings.Split(out, "\n")[1])[0]))
	}
}
