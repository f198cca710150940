package load

import (
	"testing"
	"time"
)

func TestSaturation(t *testing.T) {
	f := func(used, elapsed time.Duration, cpus int, want bool) {
		t.Helper()
		if got := saturation(used, elapsed, cpus); (got != "") != want {
			t.Errorf("%v of %v on %d CPUs: %q", used, elapsed, cpus, got)
		}
	}
	f(19*time.Second, 10*time.Second, 2, true)
	f(10*time.Second, 10*time.Second, 2, false)
	f(0, 10*time.Second, 2, false)
	f(time.Millisecond, time.Millisecond, 1, false) // too short to say
	f(time.Second, 0, 1, false)
}

func TestProcessCPUGrows(t *testing.T) {
	a := processCPU()
	x := 1
	for end := time.Now().Add(30 * time.Second); processCPU() <= a; x++ {
		if time.Now().After(end) {
			t.Fatalf("no CPU time used in 30 s (%d)", x)
		}
	}
}
