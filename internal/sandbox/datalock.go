package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// useData calls use with a data set, which nobody removes meanwhile, and notes that it was used. Any number of programs
// may use it at a time.
func useData(ctx context.Context, home, key string, use func(dataList) error) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	missing := hint(fmt.Errorf("%w: %s", ErrNoData, key), "see `dyno sandbox data ls`")
	dir := dataDir(home, key)
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err != nil {
		return err
	}
	defer f.Close() // and with it the lock
	for {
		err := platform.Lock(f, false)
		if err == nil {
			break
		}
		if !errors.Is(err, platform.ErrLocked) {
			return fmt.Errorf("lock %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	if !same(f, dir) { // removed before we had the lock
		return missing
	}
	l, err := readDataList(dir)
	if err != nil {
		return hint(fmt.Errorf("%w: %s: %w", ErrData, key, err), "remove it with `dyno sandbox data rm "+key+
			"`, then prepare and save it again")
	}
	if err := touch(filepath.Join(dir, dataUsedName)); err != nil {
		return err
	}
	return use(l)
}

// same reports whether path still leads to the open directory.
func same(f *os.File, path string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Stat(path) // a user may have put a link there
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(f.Close(), os.Chtimes(path, now, now))
}
