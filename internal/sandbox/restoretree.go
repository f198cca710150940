package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// tree lists what is in a data directory: paths below it, with slashes.
type tree struct {
	Dirs  map[string]fs.FileMode `json:"dirs,omitempty"` // without the data directory itself
	Files map[string]treeFile    `json:"files"`
}

type treeFile struct {
	Size int64       `json:"size"`
	Mode fs.FileMode `json:"mode"` // permissions
}

func (t tree) size() (n int64) {
	for _, f := range t.Files {
		n += f.Size
	}
	return n
}

// readTree lists a data directory and what it takes on disk, less what skip names. Sockets and pipes, which a server
// leaves, are no part of it; a symbolic link, or a table that lies elsewhere, is an error: a copy of it would be the
// same files.
func readTree(dir string, skip func(rel string) bool) (t tree, bytes int64, err error) {
	t = tree{Dirs: map[string]fs.FileMode{}, Files: map[string]treeFile{}}
	root, err := openOwned(dir)
	if err != nil {
		return t, 0, err
	}
	defer root.Close()
	err = root.walk(func(rel string, d fs.DirEntry) error {
		if skip != nil && d.Type().IsRegular() && skip(rel) {
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			t.Dirs[rel] = fi.Mode().Perm()
		case d.Type()&fs.ModeSymlink != 0 || strings.HasSuffix(rel, ".isl"):
			return hint(fmt.Errorf("%w: %s lies outside the data directory", ErrData, rel),
				"make the tables without DATA DIRECTORY")
		case d.Type().IsRegular():
			t.Files[rel] = treeFile{fi.Size(), fi.Mode().Perm()}
			bytes += onDisk(fi)
		}
		return nil
	})
	return t, bytes, err
}

// check returns an error when a directory has not the files and directories of the list, each of its size.
func (t tree) check(dir string) error {
	for name := range t.Dirs {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return fmt.Errorf("the directory %s is missing", name)
		}
	}
	for name, f := range t.Files {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s is missing", name)
		}
		if !fi.Mode().IsRegular() || fi.Size() != f.Size {
			return fmt.Errorf("%s has %d bytes, not %d", name, fi.Size(), f.Size)
		}
	}
	return nil
}

// clean removes from a data directory what the list does not have, or has as something else. It returns the number of
// files.
func (t tree) clean(root owned) (removed int, err error) {
	var dirs []string
	err = root.walk(func(rel string, d fs.DirEntry) error {
		_, file := t.Files[rel]
		_, dir := t.Dirs[rel]
		switch {
		case d.IsDir() && dir || d.Type().IsRegular() && file:
			return nil
		case d.IsDir():
			dirs = append(dirs, rel) // once its files are gone and counted
			return nil
		}
		removed++
		return root.Remove(rel)
	})
	if err != nil {
		return removed, err
	}
	for _, d := range slices.Backward(dirs) {
		if err := root.Remove(d); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// makeDirs makes the directories of the list that are missing, and gives all of them to the account.
func (t tree) makeDirs(root owned, a account) error {
	names := make([]string, 0, len(t.Dirs))
	for n := range t.Dirs {
		names = append(names, n)
	}
	slices.Sort(names) // a directory comes before what is in it
	for _, n := range names {
		if err := root.Mkdir(n, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		d, err := root.OpenFile(n, os.O_RDONLY|platform.Directory|platform.NoFollow, 0)
		if err != nil {
			return err
		}
		err = a.take(d, t.Dirs[n])
		d.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// take gives an open file or directory its permissions and the account as its owner.
func (a account) take(f *os.File, mode fs.FileMode) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Mode().Perm() != mode {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if a.name != "" && !a.owns(fi) {
		return f.Chown(a.uid, a.gid)
	}
	return nil
}

func (a account) owns(fi fs.FileInfo) bool {
	f, ok := platform.FileOf(fi)
	return ok && f.UID == a.uid && f.GID == a.gid
}

// sharesBlocks reports whether copies in the directory to can share blocks with the files of the list below from.
func (t tree) sharesBlocks(from, to string) bool {
	root, err := openOwned(from)
	if err != nil {
		return false
	}
	defer root.Close()
	for name, f := range t.Files {
		if f.Size == 0 {
			continue
		}
		in, err := root.plain(name, os.O_RDONLY)
		if err != nil {
			return false
		}
		defer in.Close()
		out, err := os.CreateTemp(to, ".share-")
		if err != nil {
			return false
		}
		defer os.Remove(out.Name())
		defer out.Close()
		return shareBlocks(out, in) == nil
	}
	return true
}

// quiet returns when nobody has a file below dir open for writing, and ErrBusy when somebody still has after a while.
// The process of a server that was killed can be gone while the kernel still carries out writes that it had asked for.
func quiet(ctx context.Context, dir string, within time.Duration) error {
	end := time.Now().Add(within)
	root, err := openOwned(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.walk(func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := root.plain(rel, os.O_RDONLY)
		if errors.Is(err, ErrData) {
			return nil // no server's: it is not kept
		}
		if err != nil {
			return err
		}
		defer f.Close()
		path := filepath.Join(dir, rel)
		for {
			if written, err := openForWriting(f); !written {
				return err
			}
			if time.Now().After(end) {
				return hint(fmt.Errorf("%w: %s is open for writing by another process", ErrRunning, path),
					"end the process; `fuser "+path+"` shows which it is")
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
}
