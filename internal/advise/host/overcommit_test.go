package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestOvercommit(t *testing.T) {
	m := kernel(machine.New(), "vm.overcommit_memory", "2").Gauge("node_memory_CommitLimit_bytes", 10<<30).
		Gauge("node_memory_Committed_AS_bytes", 9.5*(1<<30))
	found(t, overcommit, m, "warning: 9.5 GiB of 10 GiB that the kernel may commit are committed: the next "+
		"allocation may be refused | vm.overcommit_memory = 0")
	found(t, overcommit, kernel(machine.New(), "vm.overcommit_memory", "2"), "fact: the kernel commits no more memory "+
		"than it has (vm.overcommit_memory 2) | vm.overcommit_memory = 0")
}

func TestOvercommitSilent(t *testing.T) {
	full := func(mode string) {
		t.Helper()
		found(t, overcommit, kernel(machine.New(), "vm.overcommit_memory", mode).Gauge("node_memory_CommitLimit_bytes",
			10<<30).Gauge("node_memory_Committed_AS_bytes", 30<<30))
	}
	full("0")
	full("1")
}
