//go:build unix

package platform

import (
	"errors"
	"io/fs"
	"math/bits"
	"os"
	"syscall"
	"time"
)

// Flags of os.OpenFile: NoFollow opens no link, NonBlock does not wait for the other end of a pipe, Directory opens
// nothing but a directory.
const (
	NoFollow  = syscall.O_NOFOLLOW
	NonBlock  = syscall.O_NONBLOCK
	Directory = syscall.O_DIRECTORY
)

// Lock takes a lock of a whole file, exclusive or shared, which ends when the file is closed or the process ends. It
// does not wait: the error is ErrLocked when another open file has it.
func Lock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// WaitLock takes an exclusive lock as Lock does, and waits until it can be had.
func WaitLock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// FileOf returns what the system keeps about a file, and false where it keeps nothing of the kind.
func FileOf(fi fs.FileInfo) (File, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return File{UID: -1, GID: -1}, false
	}
	return File{UID: int(st.Uid), GID: int(st.Gid), Device: uint64(st.Dev), Inode: st.Ino, //nolint:unconvert // as below
		Links: uint64(st.Nlink), Bytes: st.Blocks * 512}, true //nolint:unconvert // of other types on other systems
}

// Space returns the bytes of the file system that a path is on: those that users other than root may still take, and
// all.
func Space(path string) (free, total uint64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	of := uint64(st.Bsize)
	return capacity(uint64(st.Bavail), of), capacity(st.Blocks, of), nil //nolint:unconvert // signed on some systems
}

// capacity is what blocks hold, at most 2^62 bytes: file systems over a network may claim more than fits.
func capacity(blocks, of uint64) uint64 {
	if hi, lo := bits.Mul64(blocks, of); hi == 0 && lo < 1<<62 {
		return lo
	}
	return 1 << 62
}

// CPU returns the CPU time that this process has used so far, in user and in system mode (getrusage(2)).
func CPU() (user, system time.Duration, ok bool) { return usage(syscall.RUSAGE_SELF) }

// ChildrenCPU is OwnCPU of the children of this process that have ended and were waited for.
func ChildrenCPU() time.Duration {
	user, system, _ := usage(syscall.RUSAGE_CHILDREN)
	return user + system
}

func usage(who int) (user, system time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil { // only for a bad address
		return 0, 0, false
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), true
}

// Ended reports whether there is surely no process of that number.
func Ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// NewGroup has a process begin a process group of its own, with everything it starts: the terminal's Ctrl-C does not
// reach it.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SignalGroup sends a signal to the process group that a process began by NewGroup.
func SignalGroup(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }

// OpenFiles returns how many files this process may have open at a time; not ok where there is no such limit.
func OpenFiles() (limit uint64, ok bool) {
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil //nolint:unconvert // an int64 on some systems
}

// Private has f make files for this account alone. That holds for the whole process meanwhile: files of others come out
// for fewer, not for more.
func Private(f func()) {
	defer syscall.Umask(syscall.Umask(0o077))
	f()
}

// SyncDir makes the names in an open directory durable.
func SyncDir(d *os.File) error { return d.Sync() }

// Sync has the kernel write out all files.
func Sync() { syscall.Sync() }
