package load

import (
	"testing"
	"time"
)

func TestProcessCPUGrows(t *testing.T) {
	a := processCPU()
	x := 1
	for end := time.Now().Add(30 * time.Second); processCPU() <= a; x++ {
		if time.Now().After(end) {
			t.Fatalf("no CPU time used in 30 s (%d)", x)
		}
	}
}
