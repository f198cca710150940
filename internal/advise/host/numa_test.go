package host

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/machine"
	"github.com/dyno-perf/dyno/test/snap"
)

func nodes(n int) *snap.Made {
	m := machine.New()
	m.S.Host.NUMANodes = known.Of(n)
	return m
}

func TestNuma(t *testing.T) {
	found(t, numa, kernel(nodes(2), "vm.zone_reclaim_mode", "1"),
		"fact: the kernel drops the page cache of a node before it uses another one (vm.zone_reclaim_mode 1) | "+
			"vm.zone_reclaim_mode = 0")
}

func TestNumaSilent(t *testing.T) {
	found(t, numa, nodes(1))
	found(t, numa, nodes(2))
	found(t, numa, kernel(nodes(1), "vm.zone_reclaim_mode", "1"))
}
