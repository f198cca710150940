package load

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLoopsFor(t *testing.T) {
	f := func(sessions, cpus, want int) {
		t.Helper()
		if got := loopsFor(sessions, cpus); got != want {
			t.Errorf("%d sessions on %d CPUs: %d loops, want %d", sessions, cpus, got, want)
		}
	}
	f(1, 64, 1)
	f(16, 2, 1)
	f(1000, 2, 1)
	f(64, 16, 4)
	f(1000, 64, 16)
}

// TestLoopsOwnTime: what a thread did before a loop had it is not the loop's work.
func TestLoopsOwnTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	work := func(d time.Duration) {
		for from, _ := threadCPU(unix.Gettid()); ; {
			if now, ok := threadCPU(unix.Gettid()); !ok || now-from >= d {
				return
			}
		}
	}
	work(300 * time.Millisecond)
	l := &loop{}
	leave := l.take()
	f := func(when string) {
		t.Helper()
		if used := l.cpu(); used < 100*time.Millisecond || used >= 300*time.Millisecond {
			t.Errorf("%s a loop that worked for 100ms used %v", when, used)
		}
	}
	work(100 * time.Millisecond)
	f("while it runs")
	leave()
	work(300 * time.Millisecond)
	f("when it has ended")
}
