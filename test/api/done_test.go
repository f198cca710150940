package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/sandbox"
)

const plan = `dyno_plan: 1
name: api-threads
title: Are more sessions better?
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 500}
axes:
  - threads: [1, 2]
placement: shared
trials: {time: 1s, warmup: 200ms..200ms, rounds: 3..3, margin: 25%, fresh: none}
show: [tps]
`

// labHome is a home that the account of private servers can enter; they are gone with the test.
func labHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "dyno-api-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if y, err := sandbox.Open(home, app.Makers()...); err == nil {
			if err := y.RemoveAll(context.Background()); err != nil {
				t.Error(err)
			}
		}
		os.RemoveAll(home)
	})
	return home
}

// lacking plants a table that is read whole for want of an index, and a load that does so until the test ends; it
// returns the finding about it.
func (v *world) lacking() (f finding.Finding) {
	v.t.Helper()
	v.server.Exec(v.t, "USE shop", "CREATE TABLE parcels (id INT PRIMARY KEY AUTO_INCREMENT, depot INT NOT NULL, "+
		"note VARCHAR(80) NOT NULL) ENGINE=InnoDB",
		"INSERT INTO parcels (depot, note) SELECT seq % 1000, REPEAT('x', 60) FROM seq_1_to_60000",
		"ANALYZE TABLE parcels")
	db := v.server.DB(v.t, "shop")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	v.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			var n int
			// it ends with the test
			_ = db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(note) FROM parcels WHERE depot = %d", i%1000)).
				Scan(&n)
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Millisecond):
			}
		}
	}()
	v.until("a finding about parcels", func() error {
		v.task("/diagnose", map[string]any{"target": "shop", "window": 5})
		var a struct {
			Diagnosis struct{ Findings []finding.Finding }
		}
		if err := json.Unmarshal(v.ask(v.find("/findings"), url.Values{"target": {"shop"}}, "", "").body,
			&a); err != nil {
			return err
		}
		for _, x := range a.Diagnosis.Findings {
			for _, y := range x.Subject.Tables {
				if x.Rule == "missing-index" && y.Table == "parcels" {
					f = x
					return nil
				}
			}
		}
		return fmt.Errorf("%d others", len(a.Diagnosis.Findings))
	})
	return f
}

// TestWhatWasDone carries a change out, proves it and takes it back, runs a load and an experiment, all for real, and
// holds what is told of each to its schema.
func TestWhatWasDone(t *testing.T) {
	v := playIn(t, labHome(t))
	v.up()
	type m map[string]any
	one := func(path, id string) answer {
		t.Helper()
		a := v.ask(v.find(path), url.Values{"id": {id}}, "", "")
		if a.code != 200 || id == "" {
			t.Errorf("GET %s?id=%s: %d %.300s", path, id, a.code, a.body)
		}
		return a
	}
	first := func(list, member string) string {
		t.Helper()
		a := v.ask(v.find("/"+list), nil, "", "")
		id := a.first(list, member)
		if a.code != 200 || id == "" {
			t.Fatalf("GET /%s: %d %.300s", list, a.code, a.body)
		}
		return id
	}

	f := v.lacking()
	var shown struct {
		Preview struct{ Action struct{ SQL string } }
		SQL     string
	}
	preview := func(path string, body m) {
		t.Helper()
		if err := json.Unmarshal(v.post(path, body, 200).body, &shown); err != nil {
			t.Fatal(err)
		}
	}
	preview("/apply", m{"target": "shop", "finding": f.ID})
	v.task("/apply", m{"target": "shop", "finding": f.ID, "execute": true, "confirm": shown.Preview.Action.SQL})
	change := first("changes", "id")
	one("/change", change)
	_, proof := v.task("/prove", m{"id": change, "window": 5})
	one("/report", proof)
	var told struct{ Proofs []struct{ ID string } }
	if err := json.Unmarshal(one("/change", change).body, &told); err != nil || len(told.Proofs) != 1 ||
		told.Proofs[0].ID != proof {
		t.Errorf("the change tells of %+v, not of the proof %s: %v", told, proof, err)
	}
	if got := first("documents", "id"); got != proof {
		t.Errorf("the newest report is %s, not the proof %s", got, proof)
	}
	preview("/undo", m{"id": change})
	v.task("/undo", m{"id": change, "execute": true, "confirm": shown.SQL})
	one("/change", change)

	for _, args := range [][]string{{"prepare"}, {"run", "--threads=1", "--time=1"}} {
		args = append([]string{"load", "oltp_point_select"}, append(args, "--target", "shop", "--tables=1",
			"--table-size=100")...)
		// One that was held up by its own machine has an exit code of its own, and is kept all the same.
		if out, err := v.dyno(args...); err != nil && args[2] == "prepare" {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	one("/run", first("runs", "id"))

	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := v.dyno("compare", file) // so has one that is left undecided
	t.Logf("dyno compare: %v, %d bytes", err, len(out))
	x := first("experiments", "id")
	one("/experiment", x)
	if a := v.ask(v.find("/experiments"), nil, "", ""); a.first("experiments", "state") != "finished" {
		t.Errorf("the experiment is not finished: %.300s\n%s", a.body, out)
	}
}
