package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestTransparentHugePages(t *testing.T) {
	always := func() map[string]string {
		return map[string]string{"kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}
	}
	m := machine.New()
	m.S.Host.Settings = always()
	found(t, transparentHugePages, m, "fact: the kernel uses transparent huge pages everywhere (transparent_hugepage "+
		"always) | transparent_hugepage=madvise")
	m = machine.New().Rate("node_vmstat_compact_stall", 40).Gauge("dyno_server_huge_pages_bytes", 1<<30)
	m.S.Host.Settings = always()
	found(t, transparentHugePages, m, "notice: programs stop 40 times/s while the kernel makes room for huge pages | "+
		"transparent_hugepage=madvise")
}

func TestTransparentHugePagesSilent(t *testing.T) {
	found(t, transparentHugePages, machine.New().Rate("node_vmstat_compact_stall", 40)) // madvise
	found(t, transparentHugePages, kernel(machine.New(), "kernel/mm/transparent_hugepage/enabled",
		"always madvise [never]"))
}
