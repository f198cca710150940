package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDir makes a directory that all may enter, whatever the umask says: the server's account must pass. What is not for all lies
// in directories of its own below.
func makeDir(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

// makeDirs is makeDir with all directories above that are missing. A directory that is there stays as it is.
func makeDirs(path string) error {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return nil
	}
	if up := filepath.Dir(path); up != path {
		if err := makeDirs(up); err != nil {
			return err
		}
	}
	if err := makeDir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return hint(err, "set DYNO_HOME to a directory of yours")
	}
	return nil
}

// makePrivate makes a directory that the account alone may enter. One that is there must be the account's already, for the path
// may lie where others can write.
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
