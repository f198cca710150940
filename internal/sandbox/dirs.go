package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDir makes a directory that all may enter, whatever the umask says: the server's account must pass. What is not
// for all lies in directories of its own below.
func makeDir(path string) error { return makeAs(path, 0o755) }

// lockedMode is that of directories that are locked, see flock: all may enter, and nobody else opens them, for whoever
// can open a directory can hold its lock.
const lockedMode = 0o711

// makeLocked is makeDir for a directory that is locked.
func makeLocked(path string) error { return makeAs(path, lockedMode) }

func makeAs(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// makeDirs is makeDir with all directories above that are missing. A directory that is there stays as it is.
func makeDirs(path string) error { return makeAll(path, makeDir) }

// makeAll is makeDirs with another way to make the last one.
func makeAll(path string, last func(string) error) error {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return nil
	}
	if up := filepath.Dir(path); up != path {
		if err := makeDirs(up); err != nil {
			return err
		}
	}
	if err := last(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return hint(err, "set DYNO_HOME to a directory that you own")
	}
	return nil
}

// makePrivate makes a directory that the account alone may enter. One that is there must be the account's already, for
// the path may lie where others can write.
func makePrivate(path string, a account) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		return a.give(path)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !fi.IsDir() || ownerID(fi) != a.id() || fi.Mode().Perm() != 0o700 {
		return fmt.Errorf("%w: %s is there and is not a private directory of user %d", ErrAccount, path, a.id())
	}
	return nil
}
