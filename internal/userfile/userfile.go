// Package userfile writes files whose paths the user of a command names. Other users of the machine may have put a link or a file of
// theirs at such a path where they may write, as in /tmp: neither is written through or to. What is made is for its owner only, because
// reports, snapshots and states hold statements.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Replace has write fill a file. It is written beside and takes its place when it is whole: whatever fails, what was there before stays,
// and no half of a file appears. A new file has mode 0600, one that was there keeps its mode and owner. What is no regular file, such as
// a pipe or a terminal, is written to as it is.
func Replace(path string, write func(io.Writer) error) error {
	return invoker().replace(path, write)
}

// Open opens a file to be written in place, and makes it with mode 0600 when it is missing. flag is O_WRONLY or O_RDWR. The name of the
// file is where the links of the path lead.
func Open(path string, flag int) (*os.File, error) {
	f, _, err := open(path, flag)
	return f, err
}

// Check makes sure that a file can be written before minutes are spent on what it is to hold.
func Check(path string) error {
	f, made, err := open(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	if made {
		err = os.Remove(f.Name())
	}
	return errors.Join(err, f.Close())
}

func open(path string, flag int) (f *os.File, made bool, err error) {
	u := invoker()
	if path, err = u.follow(path); err != nil {
		return nil, false, err
	}
	f, err = u.existing(path, flag)
	if !errors.Is(err, os.ErrNotExist) {
		return f, false, err
	}
	f, err = os.OpenFile(path, flag|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	return f, err == nil, err
}

// account is who names the path: the account that runs Dyno, and the one that it runs for under sudo.
type account struct {
	uids   []int
	groups []int
}

// invoker returns the account that this process writes for.
func invoker() account {
	u := account{uids: []int{0, os.Geteuid()}, groups: []int{os.Getegid()}}
	more, _ := os.Getgroups()
	u.groups = append(u.groups, more...)
	if id, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && os.Geteuid() == 0 {
		u.uids = append(u.uids, id)
		if x, err := user.LookupId(strconv.Itoa(id)); err == nil {
			ids, _ := x.GroupIds()
			for _, s := range ids {
				if gid, err := strconv.Atoi(s); err == nil {
					u.groups = append(u.groups, gid)
				}
			}
		}
	}
	return u
}

func (u account) replace(path string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write file: %w", err)
		}
	}()
	if path, err = u.follow(path); err != nil { // a link stays, also one that leads nowhere yet
		return err
	}
	old, err := u.existing(path, os.O_WRONLY) // one that must not be written must not be replaced either
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	there, perm, owner := err == nil, os.FileMode(0o600), os.Geteuid()
	var group int
	if there {
		defer old.Close()
		fi, err := old.Stat()
		if err != nil {
			return err
		}
		if !fi.Mode().IsRegular() {
			return errors.Join(write(old), old.Close())
		}
		perm = fi.Mode().Perm()
		owner, group = owns(fi)
	}
	f, err := os.OpenFile(path+"."+strconv.FormatUint(rand.Uint64(), 36)+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if there && (errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS)) { // nothing can be made beside it: in place then
		return errors.Join(old.Truncate(0), write(old), old.Sync(), old.Close())
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if owner != os.Geteuid() { // root replaces another user's file: it stays theirs
		err = f.Chown(owner, group)
	}
	if err == nil {
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

// existing opens a file that is there, unless another user may have put it there.
func (u account) existing(path string, flag int) (*os.File, error) {
	fi, err := os.Lstat(path) // before it is opened: that of a pipe may wait without end
	if err == nil {
		err = u.refuse(path, fi)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err == nil { // it may be another one by now
		err = u.refuse(path, fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// refuse returns an error for a file in a directory where others may write, if the file is another user's, or has a second name, which
// may be in a place that is not theirs.
func (u account) refuse(path string, fi os.FileInfo) error {
	dir, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		return err
	}
	owner, _ := owns(fi)
	maker, _ := owns(dir)
	linked := false
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && fi.Mode().IsRegular() {
		linked = st.Nlink > 1
	}
	if u.shared(dir) && (linked || !slices.Contains(u.uids, owner) && owner != maker) {
		return stranger(path)
	}
	return nil
}

// shared reports whether others may write in a directory: accounts that are neither its owner nor in a group of the user.
func (u account) shared(dir os.FileInfo) bool {
	_, group := owns(dir)
	return dir.Mode()&0o002 != 0 || dir.Mode()&0o020 != 0 && !slices.Contains(u.groups, group)
}

// mostLinks bounds the links that a path is followed through, as the kernel does.
const mostLinks = 40

// follow returns where the links of a path lead. The kernel may refuse those that others put into /tmp; a name that was resolved before
// it is opened passes it by, so it is looked at here whose they are.
func (u account) follow(path string) (string, error) {
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
			at = next // opening it reports what is wrong
			continue
		}
		dir, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if !u.mayLink(fi, dir) {
			return "", stranger(next)
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

// mayLink reports whether a link may be followed: the user's own and root's, and what is in a directory that is theirs, or their group's
// to write to, and nobody else's.
func (u account) mayLink(link, dir os.FileInfo) bool {
	owner, _ := owns(link)
	maker, group := owns(dir)
	ours := slices.Contains(u.uids, maker) || dir.Mode()&0o020 != 0 && slices.Contains(u.groups, group)
	return slices.Contains(u.uids, owner) || ours && !u.shared(dir)
}

func owns(fi os.FileInfo) (uid, gid int) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

func stranger(path string) error {
	return fmt.Errorf("%s may have been put there by another user of this machine, for you to write to; "+
		"name a file in a directory that only you write to", path)
}
