package host

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/machine"
	"github.com/dyno-perf/dyno/test/snap"
)

func nodes(n int, pool uint64) *snap.Made {
	m := machine.New().Set("innodb_buffer_pool_size", fmt.Sprint(pool)).Set("innodb_numa_interleave", "OFF")
	m.S.Host.NUMANodes = known.Of(n)
	return m
}

func TestNuma(t *testing.T) {
	found(t, numa, nodes(2, 12<<30), "fact: the buffer pool is larger than one of the 2 nodes and fills them one "+
		"after the other | innodb_numa_interleave = ON")
}

func TestNumaSilent(t *testing.T) {
	found(t, numa, nodes(1, 12<<30))
	found(t, numa, nodes(2, 1<<30))
	found(t, numa, nodes(2, 7<<30)) // of 16 GiB: it fits into one
	found(t, numa, nodes(2, 12<<30).Set("innodb_numa_interleave", "ON"))
}
