package service

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// wired is a service with its parts, made of the stores that it has.
func wired(s *Service) *Service {
	if s.app == nil {
		s.app = &app.App{}
	}
	s.wire()
	return s
}

// TestNoURLOverHTTP: what is done on a server stands in the journal under its name, where an administrator's own
// commands find it.
func TestNoURLOverHTTP(t *testing.T) {
	a := alone(t)
	s := wired(&Service{app: a})
	var unknown *app.UnknownTargetError
	if _, err := s.Fleet.open(t.Context(), "mysql://u@127.0.0.1:1/"); !errors.As(err, &unknown) {
		t.Errorf("a URL is logged in to: %v", err)
	}
	s.o.Targets = []string{"mysql://u@127.0.0.1:1/"}
	if _, err := s.Fleet.open(t.Context(), "mysql://u@127.0.0.1:1/"); errors.As(err, &unknown) || err == nil {
		t.Errorf("one that the service was started with: %v", err)
	}
}

// TestLoginOfAService: what a request brings is held to allow; a URL that the service was started with is its owner's
// word.
func TestLoginOfAService(t *testing.T) {
	s := wired(&Service{o: Options{Targets: []string{"shop", "mysql://db1"}}})
	for name, want := range map[string]bool{
		"shop": true, "mysql://db1": false,
		"mysql://db2": true, "sandbox:x": true,
	} {
		if got := s.Fleet.login(name).Remote; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestReady: nobody is told of an empty fleet who asks at once, and what is watched is not offered again.
func TestReady(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{Name: "shop", URL: "unix://" +
		s.Socket + "?user=root"},
		false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{Looking: discovery.Options{
		Only:   []string{s.Socket},
		Within: 30 * time.Second,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-done, v.Close()); err != nil {
			t.Error(err)
		}
	}()
	v.Fleet.Ready(t.Context())
	if n := len(v.Fleet.All()); n != 1 {
		t.Errorf("%d targets when it is ready", n)
	}
	for end := time.Now().Add(time.Minute); v.Fleet.identities()["shop"] == ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server is not watched")
		}
	}
	if d, err := v.Inventory.Discover(t.Context()); err != nil || len(d.Found) != 1 || d.Found[0].Target != "shop" {
		t.Errorf("found %+v, %v", d, err)
	}
}

// alone gives a test an App of its own: a home without an inventory, and a home directory without the developer's own
// files.
func alone(t *testing.T, env ...string) *app.App {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	m := map[string]string{"HOME": os.Getenv("HOME")}
	for i := 0; i+1 < len(env); i += 2 {
		m[env[i]] = env[i+1]
	}
	a := &app.App{Home: t.TempDir(), Version: "test", Environ: func(k string) string { return m[k] }}
	t.Cleanup(func() { a.Close() })
	return a
}
