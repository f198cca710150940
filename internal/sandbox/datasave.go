package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/progress"
)

// SaveData stops a sandbox and keeps a copy of its data directory as the data set key, for Config.Data and RestoreData;
// about says what is in it. Only a complete data set is ever seen. One that is there already stays as it is: the key
// says what it holds. The sandbox then is one of the data set too: it can be restored to it, started again or removed.
//
// The server is shut down in full: nothing is left to recover, purge or merge, so that a server with other redo logs or
// another binary log can start on the copy and has no old work to do. Binary and relay logs, the place in a
// replication, the UUID of the server and its list of cached pages are no part of the data set. A PostgreSQL is shut
// down fast, which leaves nothing either. Its causes are
// ErrNotFound, ErrBusy, ErrBadName, ErrBadKey, ErrNoSpace, ErrData, and those of Up when the sandbox does not run.
func (y *Yard) SaveData(ctx context.Context, name, key string, about map[string]string, sink progress.Sink) error {
	const op = "save data of sandbox"
	if err := inline([]error{CheckName(name), CheckKey(key)}); err != nil {
		return wrap(op, "", err)
	}
	release, _, err := acquire(ctx, y.Home, name, false)
	if err != nil {
		return wrap(op, name, err)
	}
	defer release()
	dir := sandboxDir(y.Home, name)
	r, ok, err := y.load(dir)
	if err == nil && (!ok || !r.Ready) {
		err = hint(fmt.Errorf("%w that is complete", ErrNotFound), "see `dyno sandbox ls`")
	}
	if err != nil {
		return wrap(op, name, err)
	}
	return wrap(op, name, y.save(ctx, dir, &r, key, about, sink))
}

// save is SaveData under the sandbox's lock.
func (y *Yard) save(ctx context.Context, dir string, r *record, key string, about map[string]string,
	sink progress.Sink,
) error {
	set, err := readSettings(r.Server.Maker, r.Settings)
	if err != nil {
		return err
	}
	if !r.Process.Alive() { // it may have been killed, or told to leave work for later
		if err := y.again(ctx, dir, r, Config{}, sink); err != nil {
			return err
		}
	}
	logs, err := r.Server.Maker.PrepareEnd(ctx, r.sandbox("", dir).Spec())
	if err != nil {
		return err
	}
	if err := r.shutDown(ctx, dir, sink); err != nil {
		return err
	}
	if err := keepData(ctx, y, dir, *r, set, key, about, logs, sink); err != nil {
		return err
	}
	r.Data = key
	return r.save(dir)
}

// maxShutdown bounds a full shutdown: it writes every changed page and removes all old versions of rows.
const maxShutdown = 30 * time.Minute

// shutDown ends the server in order, and only so.
func (r *record) shutDown(ctx context.Context, dir string, sink progress.Sink) error {
	traits := r.Server.Maker.Traits()
	said := openLogs(dir, traits.Log)
	p := progress.Progress{Step: "shutting the server down in full", Started: time.Now(), At: time.Now()}
	sink.Report(p)
	began := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(began)
		return askToEnd(gctx, r.Process, traits.Orderly, maxShutdown)
	})
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-began:
			waiting = false
		case <-tick.C:
		}
		p.At = time.Now()
		sink.Report(p)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	// A server removes this file as the last thing of an orderly end.
	lock := traits.LockFile
	if there(filepath.Join(r.Run, "pid")) || lock != "" && there(filepath.Join(dir, "data", lock)) {
		return fmt.Errorf("%w: the server did not shut down cleanly: %s", ErrData,
			cmp.Or(said.last(), "see "+said.files[0]))
	}
	r.Process, r.Owner = host.Identity{}, host.Identity{}
	return inline([]error{r.Held.free(ctx), r.save(dir)})
}

// keepData copies the data directory of a server that was shut down.
func keepData(ctx context.Context, y *Yard, dir string, r record, set settings, key string, about map[string]string,
	logs []string, sink progress.Sink,
) (err error) {
	if err := makeAll(dataSetsIn(y.Home), makeLocked); err != nil {
		return err
	}
	work, release, err := makingPlace(ctx, y, key)
	if err != nil || work == "" {
		return err
	}
	defer release()
	defer func() {
		if err != nil {
			os.RemoveAll(work)
		}
	}()
	from := filepath.Join(dir, "data")
	l := dataList{
		Format: dataFormat, Key: key, About: about, Flavor: r.Server.Flavor, Version: r.Server.Version,
		Initial: set.initialSettings(), Created: time.Now(), dir: work,
	}
	var onDisk int64
	if l.Tree, onDisk, err = readTree(from, func(rel string) bool {
		return r.Server.Maker.Leaves(r.Server, rel, logs)
	}); err != nil {
		return err
	}
	if err := os.Mkdir(l.data(), 0o700); err != nil {
		return err
	}
	if !l.Tree.sharesBlocks(from, work) {
		if err := checkSpace(work, onDisk); err != nil {
			return err
		}
	}
	m := &transfer{from: from, to: l.data(), tree: l.Tree, durable: true}
	if _, err := m.told(ctx, sink, "keeping the data directory"); err != nil {
		return err
	}
	if name := r.Server.Maker.Emptied(); name != "" && there(filepath.Join(from, name)) {
		if err := os.WriteFile(filepath.Join(l.data(), name), nil, 0o640); err != nil {
			return err
		}
		l.Tree.Files[name] = treeFile{0, 0o640}
	}
	return seal(ctx, y.Home, l)
}

// seal makes a data set whole: durable, listed and renamed.
func seal(ctx context.Context, home string, l dataList) error {
	for d := range l.Tree.Dirs {
		if err := syncDir(filepath.Join(l.data(), d)); err != nil {
			return err
		}
	}
	if err := inline([]error{
		syncDir(l.data()), l.Tree.check(l.data()),
		touch(filepath.Join(l.dir, dataUsedName)),
	}); err != nil {
		return err
	}
	l.Bytes = treeOnDisk(l.data())
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := inline([]error{
		writeAtomic(filepath.Join(l.dir, dataListName), append(b, '\n')),
		syncDir(l.dir),
	}); err != nil {
		return err
	}
	unlock, err := flock(ctx, dataSetsIn(home))
	if err != nil {
		return err
	}
	defer unlock()
	dir := dataDir(home, l.Key)
	if there(dir) { // not whole, else it had not been made
		if err := removeBroken(dir); err != nil {
			return err
		}
	}
	return inline([]error{os.Rename(l.dir, dir), syncDir(dataSetsIn(home))})
}

// removeBroken removes a data set that is not whole and that nobody reads. The caller holds the lock of all data sets.
func removeBroken(dir string) error {
	release, held, err := tryFlock(dir)
	if err != nil {
		return err
	}
	if held {
		return ErrBusy
	}
	defer release()
	return os.RemoveAll(dir)
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// makingPlace returns a locked directory to make the data set in; "" when it is there. Of two programs one makes it and
// the other waits.
func makingPlace(ctx context.Context, y *Yard, key string) (work string, release func(), err error) {
	for {
		work, release, held, err := tryMaking(ctx, y, key)
		if !held {
			return work, release, err
		}
		select {
		case <-ctx.Done():
			return "", nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func tryMaking(ctx context.Context, y *Yard, key string) (work string, release func(), held bool, err error) {
	unlock, err := flock(ctx, dataSetsIn(y.Home))
	if err != nil {
		return "", nil, false, err
	}
	defer unlock()
	if _, ok := y.HasData(key); ok {
		return "", nil, false, nil
	}
	if err := clearData(y.Home); err != nil {
		return "", nil, false, err
	}
	work = filepath.Join(dataSetsIn(y.Home), making+key)
	if err := makeLocked(work); errors.Is(err, fs.ErrExist) { // clearData left it: it is locked
		return "", nil, true, nil
	} else if err != nil {
		return "", nil, false, err
	}
	release, held, err = tryFlock(work)
	return work, release, held, err
}
