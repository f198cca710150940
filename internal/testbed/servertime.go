package testbed

import (
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// serverTime returns the CPU time that a server has used so far: of its process and of its children that are alive.
// False when it has ended.
func serverTime(pid int) (time.Duration, bool) {
	sum, ok := cpuTime(pid)
	for _, child := range host.Started(pid) {
		if t, alive := cpuTime(child); alive {
			sum += t
		}
	}
	return sum, ok
}
