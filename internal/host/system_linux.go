package host

import "golang.org/x/sys/unix"

// cpuSet is a mask of CPUs as the kernel takes it.
type cpuSet = unix.CPUSet

// directFlag is the flag of a file that bypasses the page cache.
const directFlag = unix.O_DIRECT

func getAffinity(pid int, set *cpuSet) error { return unix.SchedGetaffinity(pid, set) }

func setAffinity(pid int, set *cpuSet) error { return unix.SchedSetaffinity(pid, set) }

// thread returns the id of the thread that calls it.
func thread() int { return unix.Gettid() }

// devices returns the device that a file is on, and the one that it is.
func devices(st *unix.Stat_t) (on, is uint64) { return st.Dev, st.Rdev }

// space returns the bytes of a filesystem that are free for users other than root, and all.
func space(vfs *unix.Statfs_t) (free, total uint64) {
	return vfs.Bavail * uint64(vfs.Bsize), vfs.Blocks * uint64(vfs.Bsize)
}
