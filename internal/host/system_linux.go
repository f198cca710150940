package host

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuSet is a mask of CPUs as the kernel takes it.
type cpuSet = unix.CPUSet

// directFlag is the flag of a file that bypasses the page cache.
const directFlag = unix.O_DIRECT

func getAffinity(pid int, set *cpuSet) error { return unix.SchedGetaffinity(pid, set) }

func setAffinity(pid int, set *cpuSet) error { return unix.SchedSetaffinity(pid, set) }

// thread returns the id of the thread that calls it.
func thread() int { return unix.Gettid() }

// threadTime returns the CPU time of this thread.
func threadTime() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// diskNumber returns the number of the device that a file is on.
func diskNumber(path string) (major, minor uint32, err error) {
	var st unix.Stat_t
	err = unix.Stat(path, &st)
	return unix.Major(st.Dev), unix.Minor(st.Dev), err
}

// numberOf returns the number of the device that a file is.
func numberOf(path string) (major, minor uint32, err error) {
	var st unix.Stat_t
	err = unix.Stat(path, &st)
	return unix.Major(st.Rdev), unix.Minor(st.Rdev), err
}

// inodeOfFD returns the inode of a descriptor.
func inodeOfFD(fd uintptr) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(fd), &st)
	return st.Ino, err
}

// uname returns the kernel's release and the name of the machine's hardware.
func uname() (release, machine string, ok bool) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return "", "", false
	}
	return unix.ByteSliceToString(uts.Release[:]), unix.ByteSliceToString(uts.Machine[:]), true
}

// mayWrite reports whether the real account of this process may write a file.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// denied returns why we may not write a file or directory, "" when we may.
func denied(path string) string {
	err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS)
	if err == nil {
		return ""
	}
	return err.Error()
}

// slurp reads a file of /proc with few system calls into a buffer that is used again. Errors wrap the kernel's.
func slurp(path string, buf *[]byte) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	if cap(*buf) == 0 {
		*buf = make([]byte, 16<<10)
	}
	b := (*buf)[:cap(*buf)]
	n := 0
	for {
		k, err := syscall.Read(fd, b[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		n += k
		if k == 0 {
			return b[:n], nil
		}
		if n == len(b) {
			b = append(b, make([]byte, len(b))...)
			*buf = b
		}
	}
}
