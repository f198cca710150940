package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestProofOnLiveTraffic: traffic is recorded before a missing index is added and after it, and the proof out of the
// history calls the class that uses the table better, with an interval, and not the one beside it.
func TestProofOnLiveTraffic(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE boxes (id INT PRIMARY KEY AUTO_INCREMENT, shelf INT, "+
		"note VARCHAR(50))", "INSERT INTO boxes (shelf, note) SELECT seq % 2000, REPEAT('x', 40) FROM seq_1_to_20000",
		"CREATE TABLE lamps (id INT PRIMARY KEY, watt INT)", "INSERT INTO lamps SELECT seq, seq FROM seq_1_to_100")
	ctx := t.Context()
	a := Actions{&App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}}
	l, err := a.Ledger(ctx)
	if err != nil {
		t.Fatal(err)
	}
	target := s.URL("root")
	tg, err := a.Open(ctx, target, Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	name := tg.Spec().Name
	add := finding.Action{
		Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "boxes"},
		Index: schema.Index{Name: "by_shelf", Type: "BTREE", Parts: []schema.IndexPart{{Column: "shelf"}}},
	}
	if err := l.Diagnoses.Put(ctx, ledger.Diagnosis{
		ID: "d-1", Target: name, At: time.Now(), Server: tg.About().Server,
		Findings: []finding.Finding{{
			ID: "f-1", Action: &add, Gain: &finding.Gain{What: "time per call", Lo: 2, Hi: 1e4},
		}},
	}); err != nil {
		t.Fatal(err)
	}

	db := s.DB(t, "shop")
	var n atomic.Int64
	load, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		for i := 0; load.Err() == nil; i++ {
			for _, q := range []string{
				fmt.Sprintf("SELECT note FROM boxes WHERE shelf = %d", i%2000),
				fmt.Sprintf("SELECT watt FROM lamps WHERE id = %d", i%100),
			} {
				r, err := db.QueryContext(load, q)
				if err != nil {
					if load.Err() == nil {
						ended <- err
					}
					return
				}
				for r.Next() {
				}
				if err := errors.Join(r.Err(), r.Close()); err != nil && load.Err() == nil {
					ended <- err
					return
				}
			}
			n.Add(1)
		}
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	// Windows end when enough ran in them, not after some seconds.
	record := func(windows int) {
		t.Helper()
		at := n.Load()
		if err := a.record(ctx, tg, name, 300*time.Millisecond, nil, func(k int, _ time.Duration) bool {
			return k < windows || n.Load() < at+200
		}, 0); err != nil {
			t.Fatal(err)
		}
	}
	record(25)
	in, err := a.PreviewChange(ctx, tg, "f-1", change.Options{})
	if err != nil || !in.Preview.OK() {
		t.Fatalf("%v %v", err, in.Preview.Blockers)
	}
	e, err := a.Apply(ctx, tg, in, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	record(25)
	p, doc, err := a.ProveAndKeep(ctx, tg, e, Proving{})
	if err != nil || p.Live == nil {
		t.Fatalf("%v %+v", err, p)
	}
	// How sure the verdict is depends on how even the seconds of the machine are; the rows that are read do not. One
	// that slows down within a side leaves few independent windows, and an interval that does not decide.
	x := p.Live
	if x.Result != stat.Better && x.Result != stat.Unstable || (x.Result == stat.Better) != (x.Ratio.Lo > 1) ||
		x.Ratio.Center <= 1 || x.Ratio.N < 2 || len(x.Classes) != 1 || x.Examined.Lo < 100 || x.Expected == nil ||
		x.Before.Windows < 8 || x.After.Windows < 8 {
		t.Errorf("%s %q %+v, rows %+v, %+v, %+v", x.Result, x.Reasons, x.Ratio, x.Examined, x.Before, x.After)
	}
	for _, c := range x.Classes {
		t.Logf("%s: %s %+v", c.Fingerprint, c.Result, c.Ratio)
	}
	if kept, err := Reports(a).Report(ctx, doc.ID); err != nil || kept.Live == nil ||
		kept.Live.Result != x.Result {
		t.Errorf("kept: %+v %v", kept, err)
	}

	// Where something begins to watch the target, which says so by its states, nothing more is recorded.
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	err = a.record(ctx, tg, name, 300*time.Millisecond, nil, func(k int, _ time.Duration) bool {
		if k == 1 {
			if err := h.PutState(&state.State{Target: name, At: time.Now(), Up: true}); err != nil {
				t.Error(err)
			}
			if err := h.Flush(ctx); err != nil {
				t.Error(err)
			}
		}
		return k < 3
	}, 0)
	if !errors.Is(err, ErrWatched) {
		t.Errorf("beside another: %v", err)
	}

	// A setting that changed in between is said, and leaves no verdict when it came together with the change.
	if err := l.Events.Put(ctx, event.Event{
		At: e.Ended.Add(time.Millisecond), Target: name, Kind: event.Config, Text: "sort_buffer_size 1 → 2",
	}); err != nil {
		t.Fatal(err)
	}
	if x, err := a.Live(ctx, tg, e, Proving{}); err != nil || x.Result != stat.Invalid {
		t.Errorf("with another change: %s %q %v", x.Result, x.Reasons, err)
	}
}
