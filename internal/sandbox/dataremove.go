package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var noData = hint(ErrNoData, "see `dyno sandbox data ls`")

// RemoveData removes a data set, also one that is not whole. Its causes are ErrNoData, and ErrBusy when a sandbox was
// made of it or it is being copied.
func (y *Yard) RemoveData(ctx context.Context, key string) error {
	const op = "remove data set"
	if err := CheckKey(key); err != nil {
		return wrap(op, "", err)
	}
	unlock, err := flock(ctx, dataSetsIn(y.Home))
	if errors.Is(err, fs.ErrNotExist) {
		err = noData
	}
	if err != nil {
		return wrap(op, key, err)
	}
	defer unlock()
	return wrap(op, key, removeData(ctx, y.Home, key))
}

// removeData is RemoveData under the lock of all data sets.
func removeData(ctx context.Context, home, key string) error {
	dir := dataDir(home, key)
	release, held, err := tryFlock(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noData
	case err != nil:
		return err
	case held:
		return hint(fmt.Errorf("%w, which copies it", ErrBusy), "wait for it to end")
	}
	defer release()
	// A sandbox names its data set in its record before it locks it: after this look, one that is being made finds it
	// gone.
	users, err := dataUsers(ctx, home)
	if err != nil {
		return err
	}
	if u := users[key]; len(u) > 0 {
		return hint(fmt.Errorf("%w: sandbox %s is restored to it", ErrBusy, strings.Join(u, ", ")),
			"remove that sandbox first with `dyno sandbox rm`")
	}
	gone := filepath.Join(dataSetsIn(home), removing+key)
	if err := inline([]error{os.RemoveAll(gone), os.Rename(dir, gone)}); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// Beginnings of the names of data sets that are no more, or not yet.
const (
	making   = ".making-"
	removing = ".removing-"
)

// clearData removes what makers and removers who were killed left. The caller holds the lock of all data sets.
func clearData(home string) error {
	entries, err := os.ReadDir(dataSetsIn(home))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), making) && !strings.HasPrefix(e.Name(), removing) {
			continue
		}
		path := filepath.Join(dataSetsIn(home), e.Name())
		release, held, err := tryFlock(path)
		if held || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.RemoveAll(path))
		release()
	}
	return inline(errs)
}

// PruneData removes data sets, the one that was used longest ago first, until those that are left take at most keep
// bytes on disk. One that a sandbox was made of, or that is being copied, stays. It returns what it removed.
func (y *Yard) PruneData(ctx context.Context, keep int64) ([]DataSet, error) {
	const op = "prune data sets"
	removed := []DataSet{}
	unlock, err := flock(ctx, dataSetsIn(y.Home))
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, wrap(op, "", err)
	}
	defer unlock()
	errs := []error{clearData(y.Home)}
	all, err := y.DataSets(ctx)
	if err != nil {
		return removed, wrap(op, "", inline(append(errs, err)))
	}
	total := int64(0)
	for i := range all {
		if all[i].Problem != "" { // its list may say anything
			all[i].Bytes = treeOnDisk(dataDir(y.Home, all[i].Key))
		}
		total += all[i].Bytes
	}
	slices.SortStableFunc(all, func(a, b DataSet) int { return cmp.Compare(a.Used.UnixNano(), b.Used.UnixNano()) })
	for _, d := range all {
		if total <= keep {
			break
		}
		err := removeData(ctx, y.Home, d.Key)
		if errors.Is(err, ErrBusy) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		total -= d.Bytes
		removed = append(removed, d)
	}
	return removed, wrap(op, "", inline(errs))
}

// treeOnDisk returns what a directory takes on disk, as far as it can be read.
func treeOnDisk(dir string) int64 {
	var n int64
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			n += onDisk(fi)
		}
		return nil
	})
	return n
}

// removeAllData removes every data set that no sandbox uses, and what was left of unfinished ones.
func removeAllData(ctx context.Context, home string) error {
	unlock, err := flock(ctx, dataSetsIn(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := os.ReadDir(dataSetsIn(home))
	if err != nil {
		return err
	}
	errs := []error{clearData(home)}
	for _, e := range entries {
		if CheckKey(e.Name()) == nil {
			errs = append(errs, wrap("remove data set", e.Name(), removeData(ctx, home, e.Name())))
		}
	}
	if err := inline(errs); err != nil {
		return err
	}
	if err := os.Remove(dataSetsIn(home)); err != nil && !errors.Is(err, fs.ErrExist) {
		// another one is being made: ENOTEMPTY is ErrExist
		return err
	}
	return nil
}
