package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The lock of a directory that was removed keeps nobody off.
func TestLockOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	open := func() *os.File {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	lock := func(f *os.File, ok, held bool) {
		t.Helper()
		if o, h, err := lockOpen(f, dir); o != ok || h != held || err != nil {
			t.Errorf("got %v %v %v, want %v %v", o, h, err, ok, held)
		}
	}
	old := open()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	lock(old, false, false)
	now := open()
	lock(old, false, false)
	lock(now, true, false)
	if _, held, err := tryFlock(dir); !held || err != nil {
		t.Errorf("not locked: %v", err)
	}
	now.Close()
	unlock, held, err := tryFlock(dir)
	if held || err != nil {
		t.Fatal(held, err)
	}
	lock(open(), false, true)
	unlock()
}

// Who waits for a sandbox that is being removed gets a new one.
func TestAcquireRemoved(t *testing.T) {
	ctx := context.Background()
	y, err := Open(t.TempDir(), makers...)
	if err != nil {
		t.Fatal(err)
	}
	// try returns what the one who waits is told.
	try := func() (created bool, err error) {
		release, _, err := acquire(ctx, y.Home, "a", true)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			var free func()
			if free, created, err = acquire(ctx, y.Home, "a", true); err == nil {
				free()
			}
		}()
		for waits := false; !waits; {
			unlock, held, err := tryFlock(sandboxesIn(y.Home))
			if err != nil {
				t.Fatal(err)
			}
			if !held {
				unlock()
			}
			select {
			case <-done: // we were slower than it was patient
				waits = true
			case <-time.After(time.Millisecond):
				waits = held
			}
		}
		if err := os.RemoveAll(sandboxDir(y.Home, "a")); err != nil {
			t.Fatal(err)
		}
		release()
		<-done
		return created, err
	}
	created, err := try()
	for errors.Is(err, ErrBusy) {
		created, err = try()
	}
	if err != nil || !created || !exists(sandboxDir(y.Home, "a")) {
		t.Errorf("created %v, %v", created, err)
	}
}

// Whoever can open a directory can hold its lock: another account can enter those of sandboxes, as servers do, and open
// none.
func TestNobodyElseHoldsTheLock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone can be another account")
	}
	home, err := os.MkdirTemp("/tmp", "lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	y, err := Open(home, makers...)
	if err != nil {
		t.Fatal(err)
	}
	another := func(program string, args ...string) error {
		c := exec.Command(program, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12003, Gid: 12003}}
		return c.Run()
	}
	for _, made := range []string{"now", "by an earlier version"} {
		release, _, err := acquire(t.Context(), y.Home, "a", true)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{sandboxesIn(y.Home), sandboxDir(y.Home, "a")} {
			if err := another("test", "-x", dir); err != nil {
				t.Errorf("made %s: a server cannot enter %s: %v", made, dir, err)
			}
			if err := another("ls", dir); err == nil {
				t.Errorf("made %s: another account can open %s", made, dir)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		release()
	}
}
