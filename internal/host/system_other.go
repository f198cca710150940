//go:build !linux

package host

import (
	"errors"
	"math/bits"
	"net/netip"
	"os"
	"runtime"
	"time"
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

func threadTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

func diskNumber(string) (major, minor uint32, err error) { return 0, 0, ErrNoDevice }

func numberOf(string) (major, minor uint32, err error) { return 0, 0, errors.ErrUnsupported }

func inodeOfFD(uintptr) (uint64, error) { return 0, errors.ErrUnsupported }

// uname knows the hardware that this program was built for.
func uname() (release, machine string, ok bool) { return "", runtime.GOARCH, true }

func mayWrite(string) bool { return false }

func denied(string) string { return errors.ErrUnsupported.Error() }

func slurp(path string, _ *[]byte) ([]byte, error) { return os.ReadFile(path) }

// diagSocket is not known here.
func diagSocket(_, _ netip.AddrPort) (s Socket, found bool, err error) {
	return s, false, errors.ErrUnsupported
}

// Listeners is not known here.
func Listeners(netip.AddrPort) ([]int, error) { return nil, errors.ErrUnsupported }
