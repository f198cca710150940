package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
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

// TestRedactANamedServer switches redaction of a server that the service was started with: the watcher is another one
// before the answer says so, and replacing the entry or its password keeps the switch.
func TestRedactANamedServer(t *testing.T) {
	a := alone(t)
	shop := ledger.Target{Name: "shop", URL: "mysql://dyno@127.0.0.1:1/"}
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), shop, false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{Targets: []string{"shop"}, Looking: discovery.Options{None: true}})
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
	v.Fleet.Ready(ctx)
	f := func(what string, want bool, err error) {
		t.Helper()
		m, watched := v.Fleet.Find("shop")
		if kept, _ := v.ledger.Target(ctx, "shop"); err != nil || !watched || m.Entry.Redact != want ||
			kept.Redact != want {
			t.Errorf("%s: watched %t with %+v, the inventory has %+v, %v", what, watched, m.Entry, kept, err)
		}
	}
	f("at first", false, nil)
	_, err = v.Inventory.Redact(ctx, "shop", true)
	f("switched on", true, err)
	_, err = v.Inventory.AddTarget(ctx, shop, nil, true)
	f("replaced", true, err)
	off, on := false, true
	_, err = v.Inventory.AddTarget(ctx, shop, &off, true)
	f("replaced without", false, err)
	_, err = v.Inventory.SetTargetPassword(ctx, "shop", "", "secret7", &on)
	f("a password with it", true, err)
	_, err = v.Inventory.SetTargetPassword(ctx, "shop", "", "secret8", nil)
	f("another password", true, err)
}
