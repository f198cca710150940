package load

import (
	"fmt"
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

// saturated is the share of its CPUs above which a client is likely to be what limits a run.
const saturated = 0.8

// saturation returns a warning when the process that made the load used up nearly all the CPU it may.
func saturation(used, elapsed time.Duration, cpus int) string {
	if elapsed < tick/2 || cpus < 1 {
		return ""
	}
	share := used.Seconds() / elapsed.Seconds() / float64(cpus)
	if share < saturated {
		return ""
	}
	return fmt.Sprintf("the client used %.0f %% of the %d CPUs it may use: it may have been the limit, not the server; use fewer threads or another machine for the client",
		100*share, cpus)
}
