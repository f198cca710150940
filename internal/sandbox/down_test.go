package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"dyno/internal/host"
)

// process starts one that ignores requests to end, and returns its identity.
func process(t *testing.T) (host.Identity, <-chan error) {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var b [6]byte
	if _, err := out.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	t.Cleanup(func() { c.Process.Kill() })
	id, err := host.IdentityOf(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, gone
}

// A PID that belongs to somebody else now is never touched.
func TestOtherProcess(t *testing.T) {
	ctx := context.Background()
	id, gone := process(t)
	y, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := func(change func(*host.Identity), act func() error) {
		t.Helper()
		if err := os.MkdirAll(y.dir("a"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := record{Process: id, Ready: true}
		change(&r.Process)
		if err := r.save(y.dir("a")); err != nil {
			t.Fatal(err)
		}
		if s := find(t, y, "a"); s.State != Dead || s.PID != 0 {
			t.Errorf("%+v", s)
		}
		if err := act(); err != nil {
			t.Error(err)
		}
		if !id.Alive() {
			t.Fatal("another process was ended")
		}
	}
	f(func(i *host.Identity) { i.Start-- }, func() error { return y.Down(ctx, "a") })
	f(func(i *host.Identity) { i.Boot = "the last one" }, func() error { return y.Down(ctx, "a") })
	f(func(i *host.Identity) { i.Start++ }, func() error { return y.Remove(ctx, "a") })
	f(func(i *host.Identity) { i.Boot = "" }, func() error { return y.RemoveAll(ctx) })

	// The right one is ended, though it does not listen.
	began := time.Now()
	if err := end(ctx, id, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if time.Since(began) < 300*time.Millisecond {
		t.Error("no time to end in order")
	}
	if id.Alive() {
		t.Fatal("alive")
	}
	<-gone
	if err := end(ctx, id, time.Second); err != nil {
		t.Fatalf("an end that has come already: %v", err)
	}
}

func TestEndCancelled(t *testing.T) {
	id, _ := process(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := end(ctx, id, time.Hour); !errors.Is(err, context.DeadlineExceeded) || !id.Alive() {
		t.Fatal(err)
	}
}
