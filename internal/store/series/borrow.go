package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// borrowPrefix begins the names of the directories of Borrow, which lie beside the store.
const borrowPrefix = "series-read-"

// Borrow opens what the store in dir has between two moments (Unix milliseconds) for reading, also while another
// process writes it, and changes nothing of it: the files that are complete are linked into a directory beside the
// store, and the others copied. There are no minutes in it. Close of the store that is returned removes the directory;
// one that a dead process left is removed by the next Borrow, and when the store is opened. A directory without a store
// is fs.ErrNotExist.
func Borrow(ctx context.Context, dir string, from, to int64) (*Borrowed, error) {
	if _, err := os.Stat(filepath.Join(dir, versionFile)); err != nil {
		return nil, failed("read", dir, err)
	}
	if err := checkVersion(dir); err != nil {
		return nil, err
	}
	tidyBorrowed(filepath.Dir(dir))
	tmp, err := os.MkdirTemp(filepath.Dir(dir), borrowPrefix+"*")
	if err != nil {
		return nil, failed("read", dir, err)
	}
	b := &Borrowed{tmp: tmp}
	// The writer may complete a block, and then drop the log of it, between two of the steps below.
	for try := 0; ; try++ {
		err := errors.Join(ctx.Err(), link(dir, tmp, from, to))
		if err == nil {
			b.Store, err = openStill(tmp, Options{Retention: forever, MinuteRetention: forever})
		}
		if err == nil {
			b.db.DisableCompactions()
			return b, nil
		}
		if try == borrowTries || ctx.Err() != nil {
			return nil, errors.Join(failed("read", dir, err), os.RemoveAll(tmp))
		}
		if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o700)); err != nil {
			return nil, failed("read", dir, err)
		}
	}
}

// borrowTries is how often a copy that the writer spoiled is made once more.
const borrowTries = 3

// Borrowed is a store that was opened for reading.
type Borrowed struct {
	*Store
	tmp string
}

// Close ends the reading and removes what it took.
func (b *Borrowed) Close() error { return errors.Join(b.Store.Close(), os.RemoveAll(b.tmp)) }

// makingTime is longer than a directory of Borrow takes to be made, which has no lock until then.
const makingTime = time.Hour

// tidyBorrowed removes what dead processes left: whoever lives has its lock. Its links keep blocks on the disk that the
// store has dropped.
func tidyBorrowed(dir string) {
	left, _ := os.ReadDir(dir) // what cannot be listed has nothing to remove
	for _, e := range left {
		d := filepath.Join(dir, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), borrowPrefix) {
			continue
		}
		if _, err := os.Stat(filepath.Join(d, "lock")); err != nil {
			if i, err := e.Info(); err != nil || time.Since(i.ModTime()).Abs() < makingTime {
				continue // it may be being made
			}
		}
		if f, err := acquire(d); err == nil {
			_ = errors.Join(os.RemoveAll(d), f.Close()) // the next one tries again
		}
	}
}

// link puts into tmp what the store in dir has of a time.
func link(dir, tmp string, from, to int64) error {
	if err := copyFile(filepath.Join(dir, versionFile), filepath.Join(tmp, versionFile)); err != nil {
		return err
	}
	blocks, until, err := blocksOf(dir, from, to)
	if err != nil {
		return err
	}
	if until <= to { // the log has the rest. What becomes a block meanwhile is in both, and is read once
		for _, sub := range []string{"wal", "chunks_head"} {
			if err := linkAll(filepath.Join(dir, sub), filepath.Join(tmp, sub)); err != nil {
				return err
			}
		}
		if blocks, _, err = blocksOf(dir, from, to); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		if err := linkBlock(b, filepath.Join(tmp, filepath.Base(b))); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf returns the directories of the blocks of a time, and up to when there are blocks.
func blocksOf(dir string, from, to int64) (blocks []string, until int64, err error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range all {
		if !e.IsDir() || strings.Contains(e.Name(), ".tmp") { // not ready, or being dropped
			continue
		}
		m := filepath.Join(dir, e.Name(), "meta.json")
		var block struct {
			MinTime int64 `json:"minTime"`
			MaxTime int64 `json:"maxTime"`
		}
		switch b, err := os.ReadFile(m); {
		case errors.Is(err, fs.ErrNotExist): // no block, or dropped meanwhile
			continue
		case err != nil:
			return nil, 0, err
		case json.Unmarshal(b, &block) != nil:
			return nil, 0, fmt.Errorf("%s does not parse", m)
		}
		until = max(until, block.MaxTime)
		if block.MaxTime >= before(from, heartbeatMS) && block.MinTime <= to {
			blocks = append(blocks, filepath.Dir(m))
		}
	}
	return blocks, until, nil
}

// linkBlock links a block. One that is dropped meanwhile, which renames its directory, is fs.ErrNotExist.
func linkBlock(from, to string) error {
	err := linkFiles(from, to, nil)
	if err == nil {
		err = linkFiles(filepath.Join(from, "chunks"), filepath.Join(to, "chunks"), nil)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(from, "meta.json"))
	}
	return err
}

// linkAll links the files of a directory of the log, and copies its last one, which is being written.
func linkAll(from, to string) error {
	return linkFiles(from, to, func(names []string) string { return slices.Max(names) })
}

// linkFiles links the files of a directory, but copies the one that last names; it takes a directory within it along. A
// directory that is not there has no files.
func linkFiles(from, to string, last func([]string) string) error {
	all, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range all {
		switch src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name()); {
		case e.Type().IsRegular():
			names = append(names, e.Name())
		case e.IsDir() && last != nil && strings.HasPrefix(e.Name(), "checkpoint.") && filepath.Ext(e.Name()) != ".tmp":
			if err := linkFiles(src, dst, nil); err != nil {
				return err
			}
		}
	}
	copied := ""
	if last != nil && len(names) > 0 {
		copied = last(names)
	}
	for _, n := range names {
		put := linkFile
		if n == copied {
			put = copyFile
		}
		if err := put(filepath.Join(from, n), filepath.Join(to, n)); err != nil {
			return err
		}
	}
	return nil
}

// linkFile links a file, or copies it where the file system has no links.
func linkFile(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return copyFile(from, to)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
