package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// replaceFile has write fill a file that the user named. It is written beside and takes its place when it is whole: whatever fails, what
// was there before stays, and no half of a file appears. The file has perm at most, and no more than what was there before. What is no
// regular file, such as a pipe or a terminal, is written to as it is. What another user of this machine may have put there is refused.
func replaceFile(path string, perm os.FileMode, write func(io.Writer) error) (err error) {
	if path, err = follow(path); err != nil { // a link stays, also one that leads nowhere yet
		return fmt.Errorf("write file: %w", err)
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
		if dir, err := os.Lstat(filepath.Dir(path)); err != nil || dir.Mode().Perm()&0o022 != 0 && foreign(fi) && owns(fi) != owns(dir) {
			return fmt.Errorf("write file: %w", errors.Join(err, strangers(path)))
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

// mostLinks bounds the links that a path is followed through, as the kernel does.
const mostLinks = 40

// follow returns where the links of a path lead. The kernel does not follow those that others put into /tmp; a name that was resolved
// before it is opened passes it by, so it is looked at here whose they are.
func follow(path string) (string, error) {
	at, todo := "/", strings.Split(path, "/")
	if !filepath.IsAbs(path) {
		var err error
		if at, err = syscall.Getwd(); err != nil {
			return "", err
		}
	}
	for links := 0; len(todo) > 0; {
		next := filepath.Join(at, todo[0])
		todo = todo[1:]
		fi, err := os.Lstat(next)
		if err != nil || fi.Mode().Type() != os.ModeSymlink {
			at = next // whoever opens it is told what is wrong
			continue
		}
		dir, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if foreign(fi) && (foreign(dir) || dir.Mode().Perm()&0o022 != 0) {
			return "", strangers(next)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > mostLinks {
			return "", &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(to) {
			at = "/"
		} else if _, err := os.Stat(next); err == nil && strings.Contains(to, ":[") { // of /proc, to what has no name
			at = next
			continue
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	if strings.HasSuffix(path, "/") {
		at += "/" // a directory is meant
	}
	return at, nil
}

func owns(fi os.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// foreign reports whether a file is neither root's nor of the account that runs this.
func foreign(fi os.FileInfo) bool { return owns(fi) != 0 && owns(fi) != os.Geteuid() }

func strangers(path string) error {
	return fmt.Errorf("%s belongs to another user of this machine, who may have put it there for you to write to; name a file in a directory that only you write to", path)
}
