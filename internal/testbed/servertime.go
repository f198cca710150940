package testbed

import (
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// serverTime is the CPU time that a server has used so far: of its process and of those of its children that are alive.
type serverTime struct {
	sum      time.Duration
	children []int
	alive    bool
}

func timeOf(pid int) (x serverTime) {
	x.sum, x.alive = cpuTime(pid)
	for _, child := range host.Started(pid) {
		if t, alive := cpuTime(child); alive {
			x.sum += t
			x.children = append(x.children, child)
		}
	}
	return x
}

// since returns what was used after an earlier look; not ok when the server has ended or a child of it has, which takes
// its time along.
func (x serverTime) since(before serverTime) (t time.Duration, ok bool) {
	ended := func(child int) bool { return !slices.Contains(x.children, child) }
	return x.sum - before.sum, x.alive && before.alive && !slices.ContainsFunc(before.children, ended)
}
