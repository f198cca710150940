package host

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/machine"
)

func TestDirtyRatios(t *testing.T) {
	m := kernel(kernel(machine.New(), "vm.dirty_background_ratio", "10"), "vm.dirty_background_bytes", "0")
	found(t, dirtyRatios, m, "fact: up to 1.6 GiB of dirty data may pile up before the kernel starts writeback | "+
		"vm.dirty_background_bytes = 67108864 | vm.dirty_bytes = 536870912")
}

func TestDirtyRatiosSilent(t *testing.T) {
	small := kernel(kernel(machine.New(), "vm.dirty_background_ratio", "10"), "vm.dirty_background_bytes", "0")
	small.S.Host.MemBytes = known.Of(uint64(4 << 30))
	found(t, dirtyRatios, small)
	// Setting the bytes sets the ratio to 0; where both are told, the bytes are in force.
	found(t, dirtyRatios, kernel(kernel(machine.New(), "vm.dirty_background_ratio", "10"),
		"vm.dirty_background_bytes", "33554432"))
}
