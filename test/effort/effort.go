// Package effort holds work to growing with its input, not with the square of it.
package effort

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Bounds of Linear: work on an input ten times as large may take thirty times as long, where the square is a hundred
// times. What takes less than least is not told from noise, nor what was not measured for long: kernels count in ticks.
const (
	times = 10
	most  = 30
	least = time.Millisecond
	long  = 30 * time.Millisecond
)

// Linear fails the test if work on an input of size 10 × n takes much more than ten times what it takes on one of size
// n. prepare makes the input and returns the work. It is the CPU time of this thread that counts: other work on the
// machine does not matter.
func Linear(t testing.TB, what string, n int, prepare func(n int) func()) {
	t.Helper()
	small, large := cpuOf(t, prepare(n)), cpuOf(t, prepare(times*n))
	if large > most*max(small, least) {
		t.Errorf("%s: %v for %d, %v for %d", what, small, n, large, times*n)
	}
}

// cpuOf returns the CPU time of the work, the mean of as many runs as take long together.
func cpuOf(t testing.TB, work func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for began, n := cpu(t), time.Duration(1); ; n++ {
		work()
		if took := cpu(t) - began; took >= long {
			return took / n
		}
	}
}

func cpu(t testing.TB) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if err := syscall.Getrusage(thread, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
