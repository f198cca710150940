package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// replaceFile has write fill a file that the user named. It is written beside and takes its place when it is whole: whatever fails, what
// was there before stays, and no half of a file appears. The file has perm at most, and no more than what was there before. What is no
// regular file, such as a pipe or a terminal, is written to as it is.
func replaceFile(path string, perm os.FileMode, write func(io.Writer) error) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // the link stays
	} else if to, err := os.Readlink(path); err == nil { // so does one that leads nowhere yet
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	old, err := os.OpenFile(path, os.O_WRONLY, 0) // one that must not be written must not be replaced either
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write file: %w", err)
	}
	there := err == nil
	var owner *syscall.Stat_t
	if there {
		defer old.Close()
		fi, err := old.Stat()
		if err != nil {
			return fmt.Errorf("write file: %w", err)
		}
		if !fi.Mode().IsRegular() {
			return errors.Join(write(old), old.Close())
		}
		perm &= fi.Mode().Perm()
		owner, _ = fi.Sys().(*syscall.Stat_t)
	}
	f, err := os.OpenFile(path+"."+strconv.FormatUint(rand.Uint64(), 36)+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if there && errors.Is(err, os.ErrPermission) || there && errors.Is(err, syscall.EROFS) { // nothing can be made beside it: in place then
		return errors.Join(old.Truncate(0), write(old), old.Sync(), old.Close())
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if owner != nil && int(owner.Uid) != os.Geteuid() { // root replaces somebody's file: it stays his
		err = f.Chown(int(owner.Uid), int(owner.Gid))
	}
	if there && err == nil { // whatever the umask is now
		err = f.Chmod(perm)
	}
	if err == nil {
		err = write(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
