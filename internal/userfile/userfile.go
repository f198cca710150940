// Package userfile writes files whose paths the user of a command names. In directories where
// others may write, such as /tmp, other users of the machine may have put a link or a file at such
// a path: Package userfile writes neither through nor to them. New files are only for their owner,
// because reports, snapshots and states contain statements.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Replace has write fill a file. It is written beside and takes its place when it is whole: whatever fails, what was
// there before stays, and no half of a file appears. A new file has mode 0600, one that was there keeps its mode and
// owner. What is no regular file, such as a pipe or a terminal, is written to as it is.
func Replace(path string, write func(io.Writer) error) error {
	return invoker().replace(path, write)
}

// Open opens a file to be written in place, and makes it with mode 0600 when it is missing. flag is O_WRONLY or O_RDWR.
// The name of the file is where the links of the path lead.
func Open(path string, flag int) (*os.File, error) {
	p, err := At(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Open(flag)
}

// Check makes sure that a file can be written before minutes are spent on what it is to hold.
func Check(path string) error {
	p, err := At(path)
	if err != nil {
		return err
	}
	defer p.Close()
	f, made, err := p.open(os.O_WRONLY)
	if err != nil {
		return err
	}
	if made {
		err = p.Remove("")
	}
	return errors.Join(err, f.Close())
}

// Place is where a path leads: a name in a directory. What is done there stays in that directory,
// also when another account puts a link in its place, or in the file's, meanwhile.
type Place struct {
	user account
	path string   // without links
	dir  *os.Root // nil for what is open and has no name, such as /dev/stdout that is a pipe
	name string
}

// At follows a path that the user of a command named. Close lets the place go.
func At(path string) (*Place, error) { return invoker().at(path) }

func (u account) at(path string) (*Place, error) {
	path, nameless, err := u.follow(path)
	if err != nil || nameless {
		return &Place{user: u, path: path}, err
	}
	p := &Place{user: u, path: path, name: filepath.Base(path)}
	if p.dir, err = openRoot(filepath.Dir(path)); err != nil {
		if at := (*fs.PathError)(nil); errors.As(err, &at) { // it is of the directory
			err = &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
		}
		return nil, err
	}
	if strings.HasSuffix(path, "/") {
		p.name = "."
	}
	return p, nil
}

// openRoot opens a directory whose path leads through no link, unless one was put there meanwhile.
func openRoot(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(path + "/.") // opens nothing but a directory: to open a pipe waits for its other end
	if err != nil {
		return nil, err
	}
	direct, err := openDirect(path)
	if errors.Is(err, errors.ErrUnsupported) {
		return dir, nil
	}
	if err == nil {
		a, err1 := dir.Stat(".")
		b, err2 := direct.Stat()
		direct.Close()
		if err = errors.Join(err1, err2); err == nil && os.SameFile(a, b) {
			return dir, nil
		}
	}
	return nil, errors.Join(stranger(path), err, dir.Close())
}

// Path returns where the path leads.
func (p *Place) Path() string { return p.path }

// Close lets the place go.
func (p *Place) Close() {
	if p.dir != nil {
		p.dir.Close()
	}
}

// Open opens the file as Open does.
func (p *Place) Open(flag int) (*os.File, error) {
	f, _, err := p.open(flag)
	return f, err
}

func (p *Place) open(flag int) (f *os.File, made bool, err error) {
	f, err = p.existing(flag)
	if !errors.Is(err, os.ErrNotExist) || p.dir == nil {
		return f, false, err
	}
	f, err = p.Create("", flag)
	return f, err == nil, err
}

// Create makes a file with mode 0600 that was not there, under the place's name with a suffix.
func (p *Place) Create(suffix string, flag int) (*os.File, error) {
	return p.dir.OpenFile(p.name+suffix, flag|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
}

// Remove removes the file with a suffix.
func (p *Place) Remove(suffix string) error {
	if p.dir == nil {
		return &os.PathError{Op: "remove", Path: p.path, Err: os.ErrInvalid}
	}
	return p.dir.Remove(p.name + suffix)
}

// Rename puts the file with a suffix in the place's own place.
func (p *Place) Rename(suffix string) error { return p.dir.Rename(p.name+suffix, p.name) }

// Lstat returns what is at the place, which may be a link by now.
func (p *Place) Lstat() (os.FileInfo, error) {
	if p.dir == nil {
		return os.Stat(p.path)
	}
	return p.dir.Lstat(p.name)
}

// Sync makes a renaming last.
func (p *Place) Sync() error {
	d, err := p.dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := platform.SyncDir(d); err != nil && !errors.Is(err, syscall.EINVAL) {
		// some file systems have nothing to sync
		return err
	}
	return nil
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
	p, err := u.at(path) // a link stays, also one that leads nowhere yet
	if err != nil {
		return err
	}
	defer p.Close()
	old, err := p.existing(os.O_WRONLY) // one that must not be written must not be replaced either
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
	part := "." + strconv.FormatUint(rand.Uint64(), 36) + ".part"
	f, err := p.Create(part, os.O_WRONLY)
	if there && (errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		// nothing can be made beside it: in place then
		return errors.Join(old.Truncate(0), write(old), old.Sync(), old.Close())
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = p.Remove(part)
		}
	}()
	switch {
	case !there:
	case owner != os.Geteuid(): // root replaces another user's file: it stays theirs
		err = f.Chown(owner, group)
	case f.Chown(-1, group) != nil: // what its group could read is not for the one that this account's files have
		perm &^= 0o070
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
	return p.Rename(part)
}

// existing opens a file that is there, unless another user may have put it there.
func (p *Place) existing(flag int) (*os.File, error) {
	before, err := p.Lstat() // before it is opened: that of a pipe may wait without end
	if err != nil {
		return nil, err
	}
	if p.dir == nil {
		return os.OpenFile(p.path, flag, 0)
	}
	if err := p.refuse(before); err != nil {
		return nil, err
	}
	if before.Mode().IsRegular() {
		flag |= platform.NonBlock // nor does a pipe hold it up that is there by now
	}
	f, err := p.dir.OpenFile(p.name, flag|platform.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !os.SameFile(before, fi) { // it may be another one by now
		err = stranger(p.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// refuse returns an error for a file in a directory where others may write, if the file is another user's, or has a
// second name, which may be in a place that is not theirs.
func (p *Place) refuse(fi os.FileInfo) error {
	dir, err := p.dir.Stat(".")
	if err != nil {
		return err
	}
	owner, _ := owns(fi)
	maker, _ := owns(dir)
	linked := false
	if f, ok := platform.FileOf(fi); ok && fi.Mode().IsRegular() {
		linked = f.Links > 1
	}
	theirs := linked || !slices.Contains(p.user.uids, owner) && owner != maker
	if fi.Mode().Type() == os.ModeSymlink || p.user.shared(dir) && theirs {
		return stranger(p.path)
	}
	return nil
}

// shared reports whether others may write in a directory: accounts that are neither its owner nor in a group of the
// user.
func (u account) shared(dir os.FileInfo) bool {
	_, group := owns(dir)
	return dir.Mode()&0o002 != 0 || dir.Mode()&0o020 != 0 && !slices.Contains(u.groups, group)
}

// mostLinks bounds the links that a path is followed through, as the kernel does.
const mostLinks = 40

// follow returns where the links of a path lead. The kernel may refuse those that others put into
// /tmp; a name that was resolved before it is opened passes it by, so it is looked at here whose
// they are. nameless says that it is what is open and has no name to be found by.
func (u account) follow(path string) (to string, nameless bool, err error) {
	if runtime.GOOS == "windows" { // whose links are is not known there
		to, err = unlinked(path)
		return to, false, err
	}
	at, todo := "/", strings.Split(path, "/")
	if !filepath.IsAbs(path) {
		if at, err = syscall.Getwd(); err != nil {
			return "", false, err
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
			return "", false, err
		}
		if !u.mayLink(fi, dir) {
			return "", false, stranger(next)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", false, err
		}
		if links++; links > mostLinks {
			return "", false, &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(to) {
			at = "/"
		} else if _, err := os.Stat(next); err == nil && len(todo) == 0 && strings.Contains(to, ":[") {
			return next, true, nil // of /proc
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	if strings.HasSuffix(path, "/") {
		at += "/" // a directory is meant
	}
	return at, false, nil
}

// unlinked returns the whole of a path no part of which is a link, or what else leads to another place.
func unlinked(path string) (string, error) {
	whole, err := filepath.Abs(path)
	for at := whole; err == nil; at = filepath.Dir(at) {
		if fi, err := os.Lstat(at); err == nil && fi.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
			return "", stranger(at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return whole, err
}

// mayLink reports whether a link may be followed: the user's own and root's, and what is in a directory that is theirs,
// or their group's to write to, and nobody else's.
func (u account) mayLink(link, dir os.FileInfo) bool {
	owner, _ := owns(link)
	maker, group := owns(dir)
	ours := slices.Contains(u.uids, maker) || dir.Mode()&0o020 != 0 && slices.Contains(u.groups, group)
	return slices.Contains(u.uids, owner) || ours && !u.shared(dir)
}

func owns(fi os.FileInfo) (uid, gid int) {
	f, _ := platform.FileOf(fi)
	return f.UID, f.GID
}

func stranger(path string) error {
	return fmt.Errorf("%s may have been put there by another user of this machine, for you to write to; "+
		"name a file in a directory that only you write to", path)
}

// OwnDir makes a directory that nobody else writes to. One that is there must be so already: in a
// directory for all, as /tmp, anybody may have made it before, or put a link there.
func OwnDir(path string) error {
	if err := os.Mkdir(path, 0o700); !errors.Is(err, os.ErrExist) {
		return err
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner, _ := owns(fi); !fi.IsDir() || owner != os.Geteuid() || fi.Mode()&0o022 != 0 {
		return fmt.Errorf("%s may have been put there by another user of this machine: "+
			"it is not a directory that only this account writes to", path)
	}
	return nil
}
