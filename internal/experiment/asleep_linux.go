package experiment

import (
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2): one stands while the machine sleeps, the other does not.
const (
	clockMonotonic = 1
	clockBootTime  = 7
)

// asleep returns for how long the machine has slept since it was started, 0 when it cannot be told.
func asleep() time.Duration {
	running, ok1 := read(clockMonotonic)
	total, ok2 := read(clockBootTime)
	if !ok1 || !ok2 {
		return 0
	}
	return total - running
}

func read(clock uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), e == 0
}
