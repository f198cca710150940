package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestIncidentOfTarget plants a pile-up of row locks and more sessions than the machine has CPUs for on a real server:
// they are one incident, which is on the disk while it goes on, is the same after a restart of the service, and keeps
// the states of its worst seconds when those of all others are gone.
func TestIncidentOfTarget(t *testing.T) {
	s := servers.Start(t, "mariadb", "innodb_lock_wait_timeout=1000")
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) "+
		"ENGINE=InnoDB", "INSERT INTO stock VALUES (1, 10)")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull}, false); err != nil {
		t.Fatal(err)
	}
	var v *Service
	end := func() {}
	begin := func() {
		var err error
		if v, err = New(t.Context(), a, Options{History: history.Options{Reach: time.Second}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- v.Run(ctx) }()
		end = sync.OnceFunc(func() {
			stop()
			if err := errors.Join(<-ran, v.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	defer func() { end() }()
	begin()
	ctx := t.Context()
	newest := func() incident.Incident {
		all, err := v.Incidents.Newest(ctx, "shop", time.Time{}, time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 1 {
			t.Fatalf("%d incidents: %+v", len(all), all)
		}
		if len(all) == 0 {
			return incident.Incident{}
		}
		return all[0]
	}
	has := func(i incident.Incident, kind event.Kind) bool {
		return slices.ContainsFunc(i.Conditions, func(c incident.Condition) bool { return c.Kind == kind })
	}
	eventually(t, "it is watched", func() bool {
		m, ok := v.Fleet.Find("shop")
		return ok && m.State != nil && m.State.Up
	})

	db := s.DB(t, "shop")
	blocker, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE stock SET n = n - 1 WHERE id = 1"
	if _, err := blocker.ExecContext(ctx, update); err != nil {
		t.Fatal(err)
	}
	busy, idle := context.WithCancel(ctx)
	defer idle()
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { _, _ = db.ExecContext(ctx, update) })
	}
	for range max(16, 4*runtime.NumCPU()) + 8 {
		running.Go(func() { _, _ = db.ExecContext(busy, "DO SLEEP(1000)") })
	}
	var i incident.Incident
	eventually(t, "one incident has both conditions", func() bool {
		i = newest()
		return i.Open && has(i, event.Locks) && has(i, event.Saturation)
	})
	eventually(t, "some of its seconds are kept", func() bool {
		d, err := v.Incidents.Detail(ctx, i.ID)
		return err == nil && len(d.Kept) > 3 && len(d.Events) >= 2
	})

	// What a user's diagnosis finds now belongs to it.
	x, err := v.Diagnoses.Diagnose(ctx, "shop", "ann", family.Look{Window: 10 * time.Second})
	looked := finished(t, v, x, err)
	eventually(t, "it has the findings of a diagnosis", func() bool {
		i = newest()
		return slices.ContainsFunc(i.Findings, func(f incident.Finding) bool { return f.Diagnosis == looked.Result })
	})

	// What is on the disk now is what a kill -9 leaves.
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(a.LedgerPath() + suffix)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "ledger.db"+suffix), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := l.Incidents.Get(ctx, i.ID); err != nil || !left.Open || len(left.Conditions) < 2 {
		t.Errorf("after a kill: %+v, %v", left, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	end()
	begin()
	id := i.ID
	eventually(t, "it goes on after a restart", func() bool {
		i = newest()
		return i.ID == id && i.Open && !i.Cut &&
			slices.ContainsFunc(i.Conditions, func(c incident.Condition) bool { return c.Times > 1 })
	})
	idle()
	if err := blocker.Rollback(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	eventually(t, "it has ended", func() bool { i = newest(); return !i.Open })
	if i.ID != id || i.Cut || !i.To.After(i.From) || len(i.Worst) == 0 || i.Title == "" {
		t.Errorf("%+v", i)
	}
	var kept []time.Time
	eventually(t, "its seconds are kept", func() bool {
		kept, err = history.Pinned(ctx, v.History, id)
		return err != nil || len(kept) > 5
	})
	states, err2 := v.History.StateTimes(ctx, "shop", i.From.Add(-time.Hour), time.Now(), 0)
	if err = errors.Join(err, err2); err != nil || len(states) <= len(kept) {
		t.Fatalf("%d states, %d kept, %v", len(states), len(kept), err)
	}

	end() // nothing is added any more
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{Reach: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if kept, err = history.Pinned(ctx, h, id); err != nil { // its last seconds may have been worse
		t.Fatal(err)
	}
	if err := h.Maintain(ctx, time.Now().Add(30*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	waits := 0
	for _, at := range kept {
		x, err := h.StateAt(ctx, "shop", at)
		if err != nil || !x.At.Equal(at) {
			t.Fatalf("the state of %v: %+v, %v", at, x, err)
		}
		waits = max(waits, len(x.Waits))
	}
	left, err := h.StateTimes(ctx, "shop", i.From.Add(-time.Hour), time.Now(), 0)
	if err != nil || waits < 4 || len(left) != len(kept) || len(left) > incident.MostSeconds {
		t.Errorf("%d states are left of %d, with %d waits, %v", len(left), len(kept), waits, err)
	}
}

// TestNewFindingIsIncident: a finding that the diagnosis before did not have begins an incident, and one of a first
// diagnosis does not.
func TestNewFindingIsIncident(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull}, false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{Judge: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "the first diagnosis is there", func() bool {
		all, _ := v.Diagnoses.Summaries(ctx, "shop", 0)
		return len(all) > 0
	})
	newest := func() []incident.Incident {
		all, err := v.Incidents.Newest(ctx, "shop", time.Time{}, time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := newest(); slices.ContainsFunc(all, func(i incident.Incident) bool { return len(i.Conditions) == 0 }) {
		t.Fatalf("the first diagnosis begins an incident: %+v", all)
	}
	db := s.DB(t, "")
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.big (id INT PRIMARY KEY, k INT) ENGINE=InnoDB",
		"INSERT INTO shop.big SELECT seq, seq FROM shop.seq_1_to_50000")
	var load sync.WaitGroup
	load.Go(func() {
		for ctx.Err() == nil {
			_, _ = db.ExecContext(ctx, "SELECT id FROM shop.big WHERE k = 7")
		}
	})
	defer load.Wait()
	defer stop()
	var i incident.Incident
	eventually(t, "a missing index is an incident", func() bool {
		for _, x := range newest() { // a busy machine may have been down for a second as well
			if slices.ContainsFunc(x.Findings, func(f incident.Finding) bool { return f.New && f.Diagnosis != "" }) {
				i = x
			}
		}
		return i.ID != ""
	})
	if i.Title == "" {
		t.Errorf("%+v", i)
	}
}

// TestIncidentsAreStoredWhileOneIsJudged: a diagnosis from stored data that takes long holds up neither the storing of
// other incidents nor the end of the service. What could not be stored waits.
func TestIncidentsAreStoredWhileOneIsJudged(t *testing.T) {
	a := alone(t)
	v, err := New(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	s := v.Incidents
	begun := make(chan string, 10)
	s.past = func(ctx context.Context, _, id string, _, _ time.Time) (string, error) { // one that never comes to an end
		begun <- id
		<-ctx.Done()
		return "", ctx.Err()
	}
	old := time.Now().Add(-time.Hour)
	i := func(id string) incident.Incident {
		return incident.Incident{
			ID: id, Target: "shop", From: old, To: old.Add(time.Minute), Worst: []incident.Second{{At: old}},
		}
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.storeAll(end) }()
	stored := func(id string) {
		t.Helper()
		eventually(t, id+" is stored", func() bool { _, err := s.ledger.Incidents.Get(ctx, id); return err == nil })
	}
	s.add(i("i-1-shop"), true)
	if id := <-begun; id != "i-1-shop" {
		t.Error(id)
	}
	s.add(i("i-2-shop"), true)
	stored("i-2-shop")
	s.add(i("i-3-shop"), false)
	stored("i-3-shop")
	close(end)
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}

	if err := v.Close(); err != nil { // states cannot be kept any more
		t.Fatal(err)
	}
	s.add(i("i-4-shop"), false)
	s.flush(ctx)
	if _, ok := s.waiting["i-4-shop"]; !ok {
		t.Error("an incident whose states were not kept is done with")
	}
}

// TestMissedIncidents: an incident that ended when the service did is diagnosed when it runs again.
func TestMissedIncidents(t *testing.T) {
	s := graphService(t).Incidents
	s.log = slog.New(slog.DiscardHandler)
	judged := make(chan string, 10)
	s.past = func(_ context.Context, _, id string, _, _ time.Time) (string, error) {
		judged <- id
		return "d-1", nil
	}
	put := func(id string, ago time.Duration, f func(*incident.Incident)) {
		t.Helper()
		to := time.Now().Add(-ago)
		i := incident.Incident{ID: id, Target: "shop", From: to.Add(-time.Minute), To: to}
		f(&i)
		if err := s.ledger.Incidents.Put(t.Context(), []incident.Incident{i}); err != nil {
			t.Fatal(err)
		}
	}
	put("missed", time.Hour, func(*incident.Incident) {})
	put("known", time.Hour, func(i *incident.Incident) { i.Diagnosis = "d-0" })
	put("open", time.Hour, func(i *incident.Incident) { i.Open = true })
	put("going on", incident.Pause/2, func(*incident.Incident) {})
	put("long ago", 2*missedFor, func(*incident.Incident) {})
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.judge(ctx) }()
	eventually(t, "it is diagnosed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.waiting["missed"].Diagnosis == "d-1"
	})
	end()
	<-done
	if id := <-judged; id != "missed" || len(judged) > 0 {
		t.Errorf("%s was diagnosed, and %d more", id, len(judged))
	}
}

// TestBlindDiagnosisEndsNothing: one that could read nothing does not end the incident that a finding is.
func TestBlindDiagnosisEndsNothing(t *testing.T) {
	s := graphService(t)
	s.Incidents.log = slog.New(slog.DiscardHandler)
	m := &member{}
	s.Fleet.members["shop"] = m
	look := func(min int, state source.State, fs ...finding.Finding) (open bool) {
		t.Helper()
		to := periodNoon.Add(time.Duration(min) * time.Minute)
		s.Incidents.judged("shop", app.Diagnosis{Findings: fs, Snapshot: &snapshot.Snapshot{
			From: to.Add(-10 * time.Second), To: to, Sources: []source.Source{{Name: source.Digests, State: state}},
		}}, seen{any: true})
		i, ok := m.whole.tracker.Now()
		return ok && i.Open
	}
	f := finding.Finding{ID: "index-add-1", Title: "Add an index", Severity: finding.Critical}
	if !look(0, source.OK, f) || !look(5, source.Failed) || look(10, source.OK) {
		t.Error("it is not open until a diagnosis that saw what there was did not find it")
	}
}
