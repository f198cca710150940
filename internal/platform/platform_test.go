package platform

import (
	"testing"
	"time"
)

func TestProcessCPUGrows(t *testing.T) {
	a := OwnCPU()
	x := 1
	for end := time.Now().Add(30 * time.Second); OwnCPU() <= a; x++ {
		if time.Now().After(end) {
			t.Fatalf("no CPU time used in 30 s (%d)", x)
		}
	}
}
