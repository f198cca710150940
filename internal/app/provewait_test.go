package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestWaitForProof: of a server that counts no statements, that no proof is possible is said before anything is changed
// or recorded. Of a watched one a wait that is too short is refused, the windows that come are waited for, and what no
// window can change ends the wait.
func TestWaitForProof(t *testing.T) {
	s := servers.Start(t, "mariadb") // performance_schema is off
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.boxes (id INT PRIMARY KEY, shelf INT, KEY by_shelf (shelf))")
	ctx := t.Context()
	a := Actions{&App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}}
	tg, err := a.Open(ctx, s.URL("root"), Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	c, err := ChangerOf(tg)
	if err != nil {
		t.Fatal(err)
	}
	name := tg.Spec().Name
	in := Intent{Finding: finding.Finding{ID: "f-1", Action: &finding.Action{
		Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "boxes"},
		Index: schema.Index{Name: "by_shelf", Type: "BTREE", Parts: []schema.IndexPart{{Column: "shelf"}}},
	}}}
	err = a.PrepareProof(ctx, tg, in, time.Hour, nil)
	if !errors.Is(err, ErrNoProof) || !strings.Contains(err.Error(), "Fix: performance_schema=ON") {
		t.Errorf("nothing counts its statements: %v", err)
	}
	if h, err := a.history(ctx); h != nil || err != nil {
		t.Errorf("something was recorded for nothing, %v", err)
	}

	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ended := time.UnixMilli(time.Now().UnixMilli()).Add(-9*time.Minute - 30*time.Second) // as windows are stored
	// put stores the minute that ends n minutes after the change.
	put := func(target string, n int, sampled bool) {
		t.Helper()
		mean := 0.01 + 0.0001*float64(n%3)
		if n > 0 {
			mean /= 10
		}
		to := ended.Add(time.Duration(n) * time.Minute)
		if err := h.PutClasses(ctx, target, to.Add(-time.Minute), to, []class.Class{{
			ID: "a1", Fingerprint: "select note from boxes where shelf = ?", Schema: "shop",
			Origin: class.PerformanceSchema, Sampled: sampled, Count: 100, TimeSec: 100 * mean,
		}}); err != nil {
			t.Error(err)
		}
	}
	for n := -11; n <= 7; n++ {
		put(name, n, false)
		put("sampled", n, true)
	}
	if err := a.PrepareProof(ctx, tg, in, 5*time.Minute, nil); !errors.Is(err, ErrNoProof) ||
		!strings.Contains(err.Error(), "windows of a minute") {
		t.Errorf("five minutes: %v", err)
	}

	e := journal.Entry{
		ID: "a-1", Target: name, Server: c.Server().Key(), State: journal.Done, Started: ended, Ended: ended,
		Action: *in.Finding.Action,
	}
	waited := 0
	p, doc, err := a.ProveAndKeep(ctx, tg, e, Proving{Wait: 30 * time.Minute, Look: family.Look{Progress: func(
		p progress.Progress,
	) {
		if strings.HasSuffix(p.Step, "7 of 8 windows") {
			if waited++; waited == 1 {
				put(name, 8, false)
			}
		}
	}}})
	if err != nil || p.Live == nil || doc.Live == nil || waited == 0 {
		t.Fatalf("%+v, %d times waited, %v", p, waited, err)
	}
	if l := p.Live; l.Result != stat.Better || l.After.Windows != 8 {
		t.Errorf("%s %q %+v", l.Result, l.Reasons, l.Ratio)
	}

	undone := e
	undone.State, undone.UndoneAt = journal.Undone, ended.Add(3*time.Minute)
	book, err := a.Ledger(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.PutEntry(ctx, undone); err != nil {
		t.Fatal(err)
	}
	l, err := a.AwaitProof(ctx, tg, e, Proving{}, 30*time.Minute)
	if err != nil || l.Result != stat.Invalid || l.After.Windows != 3 || len(l.Final) == 0 {
		t.Errorf("undone: %s %q, %d windows, %v", l.Result, l.Final, l.After.Windows, err)
	}

	sampled := e
	sampled.Target = "sampled"
	soon, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	l, err = a.AwaitProof(soon, tg, sampled, Proving{}, 30*time.Minute)
	if err != nil || l.Result != stat.Invalid || !strings.Contains(strings.Join(l.Final, ";"), "were sampled") {
		t.Errorf("sampled: %s %q %v", l.Result, l.Final, err)
	}

	// While nothing watched it the name went to another server.
	e.Ended = ended.Add(2 * time.Minute)
	for server, at := range map[string]time.Time{
		"mariadb 10.6.1": ended.Add(-time.Second), "mariadb 11.8.2": e.Ended.Add(55 * time.Second),
	} {
		if err := h.PutState(&state.State{Target: name, At: at, Up: true, Server: server}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	l, err = a.Live(ctx, tg, e, Proving{})
	if err != nil || l.Result != stat.Invalid || !strings.Contains(strings.Join(l.Reasons, ";"),
		"another server answers: mariadb 11.8.2 instead of mariadb 10.6.1") {
		t.Errorf("another server: %s %q %v", l.Result, l.Reasons, err)
	}
}
