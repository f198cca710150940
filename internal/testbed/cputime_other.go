//go:build !linux

package testbed

import "time"

// cpuTime is not known here.
func cpuTime(int) (time.Duration, bool) { return 0, false }
