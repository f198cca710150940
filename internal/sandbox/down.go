package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// grace is how long a server may take to shut down in order before it is killed.
const grace = 30 * time.Second

// atOnceLasts is how long a server may take to end its own processes when it is told to end at once. PostgreSQL kills
// those that have not ended after 5 s.
const atOnceLasts = 15 * time.Second

// Down stops a sandbox's server: it asks it to end, and kills it when it has not within 30 s. Its data stay. A sandbox
// that does not run is stopped already.
func (y *Yard) Down(ctx context.Context, name string) error {
	return y.stop(ctx, "stop sandbox", name, grace)
}

// Kill ends a sandbox's server at once, as a power cut would, and returns when it is gone: for data that are about to
// be thrown away. A sandbox that does not run is ended already.
func (y *Yard) Kill(ctx context.Context, name string) error {
	return y.stop(ctx, "kill sandbox", name, 0)
}

func (y *Yard) stop(ctx context.Context, op, name string, grace time.Duration) error {
	if err := CheckName(name); err != nil {
		return wrap(op, "", err)
	}
	release, _, err := acquire(ctx, y.Home, name, false)
	if err != nil {
		return wrap(op, name, err)
	}
	defer release()
	dir := sandboxDir(y.Home, name)
	r, ok, err := y.load(dir)
	if err != nil || !ok {
		return wrap(op, name, err)
	}
	if err := r.end(ctx, grace); err != nil {
		return wrap(op, name, err)
	}
	r.Process, r.Owner = host.Identity{}, host.Identity{}
	err = r.Held.free(ctx)
	return wrap(op, name, inline([]error{err, r.save(dir)}))
}

// Remove ends a sandbox's server at once and removes all there is of it, however complete it is.
func (y *Yard) Remove(ctx context.Context, name string) error {
	const op = "remove sandbox"
	if err := CheckName(name); err != nil {
		return wrap(op, "", err)
	}
	release, _, err := acquire(ctx, y.Home, name, false)
	if err != nil {
		return wrap(op, name, err)
	}
	defer release()
	r, _, err := y.load(sandboxDir(y.Home, name))
	if err != nil {
		return wrap(op, name, err)
	}
	return wrap(op, name, erase(ctx, sandboxDir(y.Home, name), r))
}

// RemoveOrphans removes the sandboxes whose names begin with a prefix and whose makers, see
// Config.Owner, are gone, however far these had come. A maker is known by its process, when that
// began and the boot of the machine: one that lives keeps its sandbox.
func (y *Yard) RemoveOrphans(ctx context.Context, prefix string) error {
	const op = "remove orphan"
	entries, err := os.ReadDir(sandboxesIn(y.Home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(op, "", err)
	}
	isOrphan := func(dir string) (record, bool) {
		r, ok, err := y.load(dir)
		return r, err == nil && ok && r.Owner.PID != 0 && !r.Owner.Alive()
	}
	var errs []error
	for _, e := range entries {
		dir := sandboxDir(y.Home, e.Name())
		if _, is := isOrphan(dir); !is || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		release, _, err := acquire(ctx, y.Home, e.Name(), false)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrBusy) { // another one removes it
			continue
		}
		if err == nil {
			if r, is := isOrphan(dir); is {
				err = erase(ctx, dir, r)
			}
			release()
		}
		errs = append(errs, wrap(op, e.Name(), err))
	}
	return inline(errs)
}

// erase ends a sandbox's process and removes its files. The caller holds its lock.
func erase(ctx context.Context, dir string, r record) error {
	if err := empty(ctx, dir, r); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// empty is erase that leaves the directory, and with it the lock.
func empty(ctx context.Context, dir string, r record) error {
	if err := r.end(ctx, 0); err != nil {
		return err
	}
	if err := r.Held.free(ctx); err != nil { // the record that names them must stay until they are gone
		return err
	}
	if r.Image != nil { // what is mounted there must not be emptied through it
		if err := unmountImage(ctx, dir); err != nil {
			return err
		}
	}
	if err := removeRunDir(dir, r.Run); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return inline(errs)
}

// RemoveAll removes all sandboxes, data sets and templates, and what an interrupted Install left. Builds that were
// installed stay. What is in use by another program stays too, and is in the error.
func (y *Yard) RemoveAll(ctx context.Context) error {
	list, err := y.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range list {
		errs = append(errs, y.Remove(ctx, s.Name))
	}
	errs = append(errs, removeAllData(ctx, y.Home), emptyDir(templatesIn(y.Home), func(string) bool { return true }),
		emptyDir(y.servers, isStaging))
	if err := os.Remove(sandboxesIn(y.Home)); err != nil && !errors.Is(err, fs.ErrNotExist) &&
		!errors.Is(err, syscall.ENOTEMPTY) {
		errs = append(errs, err)
	}
	return inline(errs)
}

func isStaging(name string) bool { return strings.HasPrefix(name, ".") }

// emptyDir removes the entries of a directory that which names, and the directory when it is empty then. Its lock says
// nobody uses them.
func emptyDir(dir string, which func(name string) bool) error {
	unlock, held, err := tryFlock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if held {
		return fmt.Errorf("remove %s: %w", dir, ErrBusy)
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	left := 0
	for _, e := range entries {
		if which(e.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		} else {
			left++
		}
	}
	if left == 0 {
		errs = append(errs, os.Remove(dir))
	}
	return inline(errs)
}

// end ends the sandbox's process, see the function of this name, and waits for those that it had started:
// PostgreSQL's writer of the log ends after it.
func (r record) end(ctx context.Context, grace time.Duration) error {
	var children []host.Identity
	if r.Process.Alive() {
		for _, pid := range host.Children(r.Process.PID) {
			if id, err := host.IdentityOf(pid); err == nil {
				children = append(children, id)
			}
		}
	}
	orderly, atOnce := syscall.SIGTERM, syscall.SIGKILL // of what is not there
	if m := r.Server.Maker; m != nil {
		orderly, atOnce = m.Traits().Orderly, m.Traits().AtOnce
	}
	if err := end(ctx, r.Process, orderly, atOnce, grace); err != nil {
		return err
	}
	for _, id := range children {
		gone, err := vanish(ctx, id, atOnceLasts)
		if err == nil && !gone {
			err = fmt.Errorf("process %d, which the server started, does not end", id.PID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end ends a process: in order when grace is not zero, at once when it has not ended by then. It returns when the
// process is gone. A process that is not the one of the identity is not touched, whatever its PID.
func end(ctx context.Context, id host.Identity, orderly, atOnce syscall.Signal, grace time.Duration) error {
	if !id.Alive() {
		return nil
	}
	send, free, err := signaller(id.PID)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return nil
	case err != nil:
		return fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer free()
	if !id.Alive() { // the number may have been given to another between the two looks
		return nil
	}
	signal := func(s syscall.Signal) error {
		err := send(s)
		switch {
		case errors.Is(err, syscall.ESRCH):
			return nil
		case errors.Is(err, syscall.EPERM):
			return hint(fmt.Errorf("signal process %d: %w", id.PID, err), "do it as the user who started the sandbox")
		case err != nil:
			return fmt.Errorf("signal process %d: %w", id.PID, err)
		}
		return nil
	}
	if grace > 0 {
		if err := signal(orderly); err != nil {
			return err
		}
		if gone, err := vanish(ctx, id, grace); gone || err != nil {
			return err
		}
	}
	if atOnce != syscall.SIGKILL {
		if err := signal(atOnce); err != nil {
			return err
		}
		if gone, err := vanish(ctx, id, atOnceLasts); gone || err != nil {
			return err
		}
	}
	if err := signal(syscall.SIGKILL); err != nil {
		return err
	}
	gone, err := vanish(ctx, id, grace+30*time.Second)
	if err == nil && !gone {
		err = fmt.Errorf("process %d does not end, although it was killed", id.PID)
	}
	return err
}

// vanish waits until a process is gone.
func vanish(ctx context.Context, id host.Identity, within time.Duration) (gone bool, err error) {
	for end := time.Now().Add(within); ; {
		if !id.Alive() {
			return true, nil
		}
		if time.Now().After(end) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
