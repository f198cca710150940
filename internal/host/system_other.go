//go:build !linux

package host

import (
	"errors"
	"math/bits"
	"net/netip"

	"golang.org/x/sys/unix"
)

// cpuSet is a mask of CPUs. Here no process has one that is known.
type cpuSet [maxCPUs / 64]uint64

func (s *cpuSet) Set(c int)        { s[c/64] |= 1 << (c % 64) }
func (s *cpuSet) IsSet(c int) bool { return s[c/64]&(1<<(c%64)) != 0 }

func (s *cpuSet) Count() (n int) {
	for _, b := range s {
		n += bits.OnesCount64(b)
	}
	return n
}

const directFlag = 0 // files have no such flag here

func getAffinity(int, *cpuSet) error { return errors.ErrUnsupported }

func setAffinity(int, *cpuSet) error { return errors.ErrUnsupported }

func thread() int { return 0 }

func devices(st *unix.Stat_t) (on, is uint64) { return uint64(st.Dev), uint64(st.Rdev) }

func space(vfs *unix.Statfs_t) (free, total uint64) {
	return uint64(vfs.Bavail) * uint64(vfs.Bsize), vfs.Blocks * uint64(vfs.Bsize)
}

// diagSocket is not known here.
func diagSocket(_, _ netip.AddrPort) (s Socket, found bool, err error) {
	return s, false, errors.ErrUnsupported
}

// Listeners is not known here.
func Listeners(netip.AddrPort) ([]int, error) { return nil, errors.ErrUnsupported }
