package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// flock takes an exclusive lock on a directory, which leaves no lock file behind and ends with its holder, however that
// ends. It waits until ctx ends.
func flock(ctx context.Context, dir string) (unlock func(), err error) {
	for {
		unlock, held, err := tryFlock(dir)
		if !held {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tryFlock is flock that does not wait: held tells that another one has it.
func tryFlock(dir string) (unlock func(), held bool, err error) {
	for {
		f, err := os.Open(dir)
		if err != nil {
			return nil, false, err
		}
		ok, held, err := lockOpen(f, dir)
		if ok {
			return func() { f.Close() }, false, nil
		}
		f.Close()
		if held || err != nil {
			return nil, held, err
		}
	}
}

// lockOpen takes the lock of a directory that was opened by a path. It is not ok when the path leads elsewhere by then:
// its last holder has removed the directory, and whoever makes it anew locks another one.
func lockOpen(f *os.File, dir string) (ok, held bool, err error) {
	// One that an earlier version made can be opened by all.
	if fi, err := f.Stat(); err == nil && ownerID(fi) == os.Geteuid() && fi.Mode()&0o044 != 0 {
		if err := f.Chmod(fi.Mode() & lockedMode); err != nil {
			return false, false, err
		}
	}
	err = platform.Lock(f, true)
	switch {
	case err == nil:
		return same(f, dir), false, nil
	case errors.Is(err, platform.ErrLocked):
		return false, true, nil
	}
	return false, false, fmt.Errorf("lock %s: %w", dir, err)
}

// inheritedFor is how long a lock may outlive its holder: a program that was killed while it started another one leaves
// the lock's descriptor with the child until that one executes, which takes a moment on a busy machine.
const inheritedFor = time.Second

// acquire locks the sandbox name, so that of all programs one alone starts, stops or removes it; the others get ErrBusy
// a moment later. With create it makes the sandbox's directory when there is none, and tells so. The lock of the
// directory of all sandboxes is held meanwhile: nobody sees a sandbox between being made and being locked, and a look
// never disturbs an acquire.
func acquire(ctx context.Context, home, name string, create bool) (release func(), created bool, err error) {
	if create {
		if err := makeAll(sandboxesIn(home), makeLocked); err != nil {
			return nil, false, err
		}
	}
	unlock, err := flock(ctx, sandboxesIn(home))
	if err != nil {
		return nil, false, notFound(err)
	}
	defer unlock()
	dir := sandboxDir(home, name)
	for end := time.Now().Add(inheritedFor); ; time.Sleep(10 * time.Millisecond) {
		if create {
			if err = makeLocked(dir); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, false, err
			}
			created = err == nil
		}
		release, held, err := tryFlock(dir)
		removed := create && errors.Is(err, fs.ErrNotExist) // by its last holder, after we saw it
		switch {
		case err == nil && !held:
			return release, created, nil
		case err != nil && !removed:
			return nil, false, notFound(err)
		case ctx.Err() == nil && time.Now().Before(end):
			continue
		case removed:
			return nil, false, err
		}
		return nil, false, hint(fmt.Errorf("%w, which starts, stops or removes it", ErrBusy),
			"wait for it to end and check `dyno sandbox ls`")
	}
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hint(ErrNotFound, "see `dyno sandbox ls`")
	}
	return err
}
