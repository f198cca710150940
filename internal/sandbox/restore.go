package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/progress"
)

// RestoreData makes the data directory of a sandbox that does not run equal to its data set again, by the byte. Blocks
// that are equal are read and not written. When it is interrupted, however that comes, the sandbox does not start
// before a later RestoreData, or the Up that starts it, has restored it in full.
//
// What is written is not waited for: it goes to disk in the background, see FlushData. Its causes are ErrNotFound,
// ErrRunning, ErrNoData, ErrData, ErrNoSpace and ErrBusy.
func (y *Yard) RestoreData(ctx context.Context, name string, sink progress.Sink) (Restored, error) {
	const op = "restore sandbox"
	if err := CheckName(name); err != nil {
		return Restored{}, wrap(op, "", err)
	}
	release, _, err := acquire(ctx, y.Home, name, false)
	if err != nil {
		return Restored{}, wrap(op, name, err)
	}
	defer release()
	dir := sandboxDir(y.Home, name)
	r, ok, err := y.load(dir)
	switch {
	case err != nil:
		return Restored{}, wrap(op, name, err)
	case !ok || !r.Ready:
		return Restored{}, wrap(op, name, hint(fmt.Errorf("%w that is complete", ErrNotFound), "start it with Up"))
	case r.Process.Alive():
		return Restored{}, wrap(op, name, hint(fmt.Errorf("%w as process %d", ErrRunning, r.Process.PID),
			"stop it first with `dyno sandbox down`"))
	case r.Data == "":
		return Restored{}, wrap(op, name, hint(fmt.Errorf("%w: it was not made of one", ErrNoData),
			"make a sandbox of a data set"))
	}
	if err := r.mountData(ctx, dir); err != nil { // it is not any more when the machine was started anew
		return Restored{}, wrap(op, name, err)
	}
	done, err := restoreData(ctx, y.Home, dir, &r, sink)
	return done, wrap(op, name, err)
}

// restoreData is RestoreData under the sandbox's lock.
func restoreData(ctx context.Context, home, dir string, r *record, sink progress.Sink) (Restored, error) {
	if err := r.mountData(ctx, dir); err != nil { // it is not any more when the machine was started anew
		return Restored{}, err
	}
	data := filepath.Join(dir, "data")
	a, err := ownerOf(data)
	if err != nil {
		return Restored{}, err
	}
	var done Restored
	err = useData(ctx, home, r.Data, func(l dataList) error {
		if l.Flavor != r.Server.Flavor || l.Version != r.Server.Version { // removed and saved anew meanwhile
			return hint(fmt.Errorf("%w: data set %s belongs to %s@%s now", ErrData, l.Key, l.Flavor, l.Version),
				"remove the sandbox")
		}
		if err := quiet(ctx, data, 10*time.Second); err != nil {
			return err
		}
		r.Process, r.Owner, r.Restoring = host.Identity{}, host.Identity{}, true
		if err := r.save(dir); err != nil {
			return err
		}
		if done, err = l.put(ctx, data, a, sink, "restoring the data directory"); err != nil {
			return err
		}
		r.Restoring = false
		return r.save(dir)
	})
	return done, err
}

// fillData makes the data directory of a new sandbox of the record's data set.
func fillData(ctx context.Context, home, dir string, r *record, set settings, a account, sink progress.Sink) error {
	return useData(ctx, home, r.Data, func(l dataList) error {
		if err := l.fits(r.Server, set); err != nil {
			return err
		}
		data := filepath.Join(dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			// a file system may be mounted there
			return err
		}
		if err := os.Chmod(data, 0o700); err != nil {
			return err
		}
		if _, err := l.put(ctx, data, a, sink, "copying the data set"); err != nil {
			return err
		}
		return a.give(data) // nobody can have changed it before
	})
}

// put makes the directory to, which is there, equal to the data set.
func (l dataList) put(ctx context.Context, to string, a account, sink progress.Sink, step string) (Restored, error) {
	if more := l.Bytes - treeOnDisk(to); more > 0 && !l.Tree.sharesBlocks(l.data(), to) {
		// less is never refused: a load may have filled the disk
		if err := checkSpace(to, more); err != nil {
			return Restored{}, err
		}
	}
	m := &transfer{from: l.data(), to: to, tree: l.Tree, account: a}
	return m.told(ctx, sink, step)
}

// told is run with progress.
func (m *transfer) told(ctx context.Context, sink progress.Sink, step string) (Restored, error) {
	p := progress.Progress{Step: step, Unit: "bytes", Total: float64(m.tree.size()), Started: time.Now()}
	r, err := m.run(ctx, func(done int64) {
		p.Done, p.At = float64(done), time.Now()
		sink.Report(p)
	})
	if err == nil {
		p.At, p.End = time.Now(), true
		sink.Report(p)
	}
	return r, err
}

// FlushData waits until all that was written to the file system of a sandbox's data is on disk, so that writing it does
// not disturb what comes next. It tells how long that took. When ctx ends it returns, and the kernel goes on.
func (y *Yard) FlushData(ctx context.Context, name string) (time.Duration, error) {
	const op = "flush sandbox"
	if err := CheckName(name); err != nil {
		return 0, wrap(op, "", err)
	}
	began := time.Now()
	f, err := os.Open(filepath.Join(sandboxDir(y.Home, name), "data"))
	if err != nil {
		return 0, wrap(op, name, notFound(err))
	}
	ended := make(chan error, 1)
	go func() {
		defer f.Close()
		ended <- syncFilesystem(f)
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return time.Since(began), wrap(op, name, err)
}
