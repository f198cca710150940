package platform

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Flags that this system does not know: whoever opens a file looks at what it got.
const (
	NoFollow  = 0
	NonBlock  = 0
	Directory = 0
)

// lockAt is the byte that locks are on. It is beyond all that files hold: here a locked byte cannot be read by others.
const lockAt = 1 << 30

// Lock takes a lock as on other systems.
func Lock(f *os.File, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := lock(f, flags)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// WaitLock takes a lock as on other systems.
func WaitLock(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func lock(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
}

// FileOf is never ok here.
func FileOf(fs.FileInfo) (File, bool) { return File{UID: -1, GID: -1}, false }

// Space returns the bytes of the volume that a path is on.
func Space(path string) (free, total uint64, err error) {
	p, err := windows.UTF16PtrFromString(path)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(p, &free, &total, nil)
	}
	return free, total, err
}

// CPU returns the CPU time that this process has used so far.
func CPU() (user, system time.Duration, ok bool) {
	var begun, ended, kernel, own windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &begun, &ended, &kernel, &own); err != nil {
		return 0, 0, false
	}
	length := func(t windows.Filetime) time.Duration {
		return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
	}
	return length(own), length(kernel), true
}

// ChildrenCPU is not known here.
func ChildrenCPU() time.Duration { return 0 }

// Ended reports whether there is surely no process of that number.
func Ended(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err == nil {
		_ = windows.CloseHandle(h) // nothing was changed by it
	}
	return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
}

// NewGroup has a process begin a group of its own: the terminal's Ctrl-C does not reach it.
func NewGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// SignalGroup ends the process alone, whatever the signal: there are no others here.
func SignalGroup(pid int, _ syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// OpenFiles is never ok here.
func OpenFiles() (limit uint64, ok bool) { return 0, false }

// Private calls f: here who may open a file is told by its directory.
func Private(f func()) { f() }

// SyncDir does nothing: the system takes no such order for a directory.
func SyncDir(*os.File) error { return nil }

// Sync does nothing here.
func Sync() {}
