//go:build !linux

package stand

import "time"

// cpuTime is not known here.
func cpuTime(int) (time.Duration, bool) { return 0, false }
