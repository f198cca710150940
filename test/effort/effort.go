// Package effort holds work to growing with its input, not with the square of it.
package effort

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Bounds of Linear: work on an input ten times as large may take thirty times as long, where the square is a hundred times. What takes less
// than least is not told from noise.
const (
	times = 10
	most  = 30
	least = 2 * time.Millisecond
)

// Linear fails the test if work on an input of size 10 × n takes much more than ten times what it takes on one of size n. prepare makes the
// input and returns the work. It is the CPU time of this thread that counts: other work on the machine does not matter.
func Linear(t testing.TB, what string, n int, prepare func(n int) func()) {
	t.Helper()
	small, large := cpuOf(prepare(n)), cpuOf(prepare(times*n))
	if large > most*max(small, least) {
		t.Errorf("%s: %v for %d, %v for %d", what, small, n, large, times*n)
	}
}

// cpuOf returns the CPU time that the quickest of some runs takes; a slow one is run once.
func cpuOf(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := time.Duration(0)
	for i := range 3 {
		began := cpu()
		work()
		if took := cpu() - began; i == 0 || took < best {
			best = took
		}
		if best > time.Second {
			break
		}
	}
	return best
}

func cpu() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if syscall.Getrusage(thread, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
