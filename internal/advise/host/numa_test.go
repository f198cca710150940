package host

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

func nodes(n int, pool uint64) *snap.Made {
	m := machine().Set("innodb_buffer_pool_size", fmt.Sprint(pool)).Set("innodb_numa_interleave", "OFF")
	m.S.Host.NUMANodes = known.Of(n)
	return m
}

func TestNuma(t *testing.T) {
	found(t, numa, nodes(2, 12<<30), "fact: the buffer pool is larger than one of the 2 nodes and fills them one "+
		"after the other | innodb_numa_interleave = ON")
	found(t, numa, kernel(nodes(2, 1<<30), "vm.zone_reclaim_mode", "1"),
		"fact: the kernel drops the page cache of a node before it uses another one (vm.zone_reclaim_mode 1) | "+
			"vm.zone_reclaim_mode = 0")
}

func TestNumaSilent(t *testing.T) {
	found(t, numa, nodes(1, 12<<30))
	found(t, numa, nodes(2, 1<<30))
	found(t, numa, nodes(2, 7<<30)) // of 16 GiB: it fits into one
	found(t, numa, nodes(2, 12<<30).Set("innodb_numa_interleave", "ON"))
	found(t, numa, kernel(nodes(1, 12<<30), "vm.zone_reclaim_mode", "1"))
}
