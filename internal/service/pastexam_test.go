package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestFaultsFromStore plants a missing index and a lock pile-up on a server that is watched with no one looking, ends
// both, ends the service and the server, and finds them in what is stored. The last diagnosis saw the index; the
// plan and the table are stored with the class that became heavy.
func TestFaultsFromStore(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			faultsFromStore(t, flavor)
		})
	}
}

func faultsFromStore(t *testing.T, flavor string) {
	s := servers.Start(t, flavor, "performance_schema=ON")
	numbers := "WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 900) "
	s.Exec(t, "CREATE DATABASE shop", "USE shop",
		"CREATE TABLE boxes (id INT PRIMARY KEY AUTO_INCREMENT, shelf INT NOT NULL, note VARCHAR(60) NOT NULL, "+
			"KEY by_shelf (shelf)) ENGINE=InnoDB",
		"INSERT INTO boxes (shelf, note) "+numbers+"SELECT seq % 500, REPEAT('x', 50) FROM n",
		"INSERT INTO boxes (shelf, note) SELECT a.shelf, a.note FROM boxes a JOIN boxes b ON b.id <= 30",
		"CREATE TABLE totals (id INT PRIMARY KEY, served INT NOT NULL) ENGINE=InnoDB",
		"INSERT INTO totals VALUES (1, 0)", "ANALYZE TABLE boxes, totals",
		"CREATE USER dyno@localhost")
	for _, task := range []string{"watch", "explain"} {
		grants, err := mysql.Family{}.Grants(dbms.Flavor(flavor), task, "dyno@localhost", []string{"shop"})
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, grants...)
	}
	a := &app.App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}
	t.Cleanup(func() { a.Close() })
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{
		Name: "shop", URL: s.URL("dyno"), Defaults: os.DevNull,
	}, false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{Judge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	eventually(t, "a first diagnosis", func() bool {
		all, err := v.Diagnoses.Summaries(t.Context(), "", 0)
		return err == nil && len(all) > 0
	})

	s.Exec(t, "ALTER TABLE shop.boxes DROP KEY by_shelf")
	db := s.DB(t, "shop")
	db.SetMaxIdleConns(10)
	waits := func() (n float64) {
		var name string
		row := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")
		if err := row.Scan(&name, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	// Of what is judged: its length, and how many sessions wait for a row in it.
	const long, least = 15 * time.Second, 150
	var began time.Time
	load, end := context.WithTimeout(ctx, 3*time.Minute)
	defer end()
	var running sync.WaitGroup
	running.Go(func() { // until the plan is stored, and the load was so heavy for so long
		defer end()
		id := class.ID(mytext.Fingerprint("SELECT COUNT(note) FROM boxes WHERE shelf = 1"))
		for {
			began = time.Now()
			before := waits()
			if !wait(load, long) {
				return
			}
			plans, err := v.History.Plans(ctx, "shop", id)
			if err == nil && len(plans) > 0 && plans[0].First.Before(began.Add(long/2)) && waits()-before >= least {
				return
			}
		}
	})
	for range 2 {
		running.Go(func() {
			for i := 0; load.Err() == nil; i++ {
				var n int
				_ = db.QueryRowContext(load, fmt.Sprintf("SELECT COUNT(note) FROM boxes WHERE shelf = %d",
					i%500)).Scan(&n)
			}
		})
	}
	for range 8 {
		running.Go(func() {
			for load.Err() == nil {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				_, _ = tx.ExecContext(ctx, "UPDATE totals SET served = served + 1 WHERE id = 1")
				_, _ = tx.ExecContext(ctx, "DO SLEEP(0.01)")
				_ = tx.Commit()
			}
		})
	}
	running.Wait()
	ended := time.Now()
	s.Exec(t, "ALTER TABLE shop.boxes ADD KEY by_shelf (shelf)")
	stop()
	if err := errors.Join(<-ran, v.Close()); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)

	h, err := history.Open(t.Context(), a.HistoryPath(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	ws, _, err := h.Courses(t.Context(), "shop", nil, began.Add(-time.Minute), ended)
	if err != nil || len(ws) == 0 {
		t.Fatalf("no classes are stored: %v", err)
	}
	to := ended
	if last := ws[len(ws)-1].To; last.Before(to) {
		to = last // the watcher ended in the middle of a window of classes
	}
	x, err := (archive{hole: busyHole}).borrowed(t.Context(), a, "shop", began, to)
	if err != nil {
		t.Fatal(err)
	}
	d := app.Diagnosis{Snapshot: x}
	d.Judge()
	for _, rule := range []string{"missing-index", "lock-pileup"} {
		if !slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Rule == rule }) {
			var found []string
			for _, f := range d.Findings {
				found = append(found, f.ID)
			}
			t.Errorf("no %s among %q; symptoms %+v; sources %+v, plans %+v", rule, found, d.Symptoms,
				x.Sources, x.Plans)
		}
	}
}
