package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestSwapping(t *testing.T) {
	m := kernel(machine.New(), "vm.swappiness", "60").Rate("node_vmstat_pswpin", 0)
	m.S.Series = m.S.Series[:len(m.S.Series)-2] // the quiet counter of the machine goes
	m.Rate("node_vmstat_pswpin", 500)
	m.S.Host.Process["vmswap"] = 1 << 30
	found(t, swapping, m, "warning: 1 GiB of the server's memory is in swap, and the machine reads 500 pages/s back "+
		"| vm.swappiness = 1")
	found(t, swapping, kernel(machine.New(), "vm.swappiness", "60"),
		"fact: vm.swappiness is 60: the kernel may swap the "+
			"server out to keep its page cache | vm.swappiness = 1")
}

func TestSwappingSilent(t *testing.T) {
	found(t, swapping, machine.New())
	m := machine.New() // others swap, the server does not
	m.S.Series = m.S.Series[:len(m.S.Series)-1]
	m.Rate("node_vmstat_pswpin", 500)
	found(t, swapping, m)
	m = machine.New() // what was swapped out long ago and is not wanted back
	m.S.Host.Process["vmswap"] = 1 << 30
	found(t, swapping, m)
	m = kernel(machine.New(), "vm.swappiness", "60") // nowhere to swap to
	m.S.Series = m.S.Series[:len(m.S.Series)-2]
	m.Gauge("node_memory_SwapTotal_bytes", 0)
	found(t, swapping, m)
}
