package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
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
	y, err := Open(t.TempDir(), makers...)
	if err != nil {
		t.Fatal(err)
	}
	f := func(change func(*host.Identity), act func() error) {
		t.Helper()
		if err := os.MkdirAll(sandboxDir(y.Home, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := record{Process: id, Ready: true}
		change(&r.Process)
		if err := r.save(sandboxDir(y.Home, "a")); err != nil {
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
	if err := end(ctx, id, syscall.SIGTERM, syscall.SIGKILL, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if time.Since(began) < 300*time.Millisecond {
		t.Error("no time to end in order")
	}
	if id.Alive() {
		t.Fatal("alive")
	}
	<-gone
	if err := end(ctx, id, syscall.SIGTERM, syscall.SIGKILL, time.Second); err != nil {
		t.Fatalf("an end that has come already: %v", err)
	}
}

func TestEndCancelled(t *testing.T) {
	id, _ := process(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := end(ctx, id, syscall.SIGTERM, syscall.SIGKILL, time.Hour)
	if !errors.Is(err, context.DeadlineExceeded) || !id.Alive() {
		t.Fatal(err)
	}
}

// What was made for a program that was killed goes, however far it had come, and nothing else does.
func TestRemoveOrphans(t *testing.T) {
	ctx := t.Context()
	y := yard(t)
	up(t, y, Config{Name: "try-mine", Server: "mariadb"}) // of a user who likes the name
	start := func(name, step string) *exec.Cmd {
		t.Helper()
		h, out := helper(t, helperJob{
			Home: y.Home, Config: Config{Name: name, Server: "mariadb", Owner: true},
			Steps: true,
		}, 0)
		line(t, out, step)
		return h
	}
	living := start("try-living", "up: ")
	for _, h := range []*exec.Cmd{
		start("try-dead", "up: "), start("other-dead", "up: "),
		start("try-begun", "step: waiting for the server's answer"), start("try-copied", "step: copying"),
	} {
		if err := h.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		h.Wait()
	}
	r, _, err := readRecord(sandboxDir(y.Home, "try-dead"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.end(ctx, 0); err != nil { // as after a crash of the machine, the server is gone too
		t.Fatal(err)
	}
	f := func(want ...string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			// the dead one's lock may outlive it for a moment
			if err := y.RemoveOrphans(ctx, "try-"); err != nil {
				t.Fatal(err)
			}
			all, err := y.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range all {
				names = append(names, s.Name)
			}
			if slices.Equal(names, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("left are %q, want %q", names, want)
			}
		}
	}
	f("other-dead", "try-living", "try-mine")
	value(t, open(t, find(t, y, "try-living")), "SELECT 1")
	if err := living.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	living.Wait()
	f("other-dead", "try-mine")
	for _, name := range []string{"try-dead", "try-living", "try-begun", "try-copied"} {
		if ps := processesWith(t, sandboxDir(y.Home, name)+"/"); len(ps) > 0 {
			t.Errorf("%s: left running: %q", name, ps)
		}
	}
}
