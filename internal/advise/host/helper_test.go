package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
	"github.com/dyno-perf/dyno/test/snap"
)

var (
	found  = machine.Found
	kernel = machine.Kernel
)

// TestNothingIsKnown has every rule keep silent about a machine that cannot be seen.
func TestNothingIsKnown(t *testing.T) {
	for _, r := range Rules() {
		found(t, r.Find, snap.Build())
	}
}

// TestGoodMachine has every rule keep silent about a machine where nothing is to be said.
func TestGoodMachine(t *testing.T) {
	for _, r := range Rules() {
		found(t, r.Find, machine.New())
	}
}
