package service

import (
	"context"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestOneMemberHoldsUpNobody: what a server answers may keep its watcher at work after it was stopped.
func TestOneMemberHoldsUpNobody(t *testing.T) {
	a := &app.App{Home: t.TempDir(), Environ: func(string) string { return "" }}
	v, err := New(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		v.Fleet.stopAll()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	entry := func(name string) ledger.Target {
		return ledger.Target{Name: name, URL: "mysql://dyno@127.0.0.1:1/"}
	}
	for _, name := range []string{"stuck", "late"} {
		if err := v.ledger.PutTarget(ctx, entry(name)); err != nil {
			t.Fatal(err)
		}
	}
	stopped, done := false, make(chan struct{})
	old := entry("stuck")
	old.URL = "mysql://dyno@127.0.0.1:2/"
	v.Fleet.members["stuck"] = &member{entry: old, stop: func() { stopped = true }, done: done}
	if err := v.Fleet.follow(ctx); err != nil {
		t.Fatal(err)
	}
	_, watched := v.Fleet.Find("late")
	if _, again := v.Fleet.Find("stuck"); !stopped || again || !watched {
		t.Errorf("it was stopped: %v, is watched again: %v, the other one is watched: %v", stopped, again, watched)
	}
	close(done)
	if err := v.Fleet.follow(ctx); err != nil {
		t.Fatal(err)
	}
	if m, again := v.Fleet.Find("stuck"); !again || m.Entry.URL != entry("stuck").URL || len(v.Fleet.leaving) > 0 {
		t.Errorf("%+v is watched, %v leave", m.Entry, v.Fleet.leaving)
	}
	v.Fleet.left(time.Millisecond)
}
