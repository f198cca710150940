package load

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time that this process has used so far, in user and in system mode (getrusage(2)).
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // only for a bad address
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
