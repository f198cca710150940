package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// passed returns the time since the machine was started. It goes on while the machine sleeps, and setting the clock
// does not change it.
func passed() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Since(start)
	}
	return time.Duration(t.Nano())
}
