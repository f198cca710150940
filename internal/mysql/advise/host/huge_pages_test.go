package host

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestHugePages(t *testing.T) {
	m := machine.New().Set("innodb_buffer_pool_size", fmt.Sprint(uint64(12<<30)))
	m.S.Host.Process["vmhwm"] = 13 << 30
	found(t, hugePages, m, "fact: huge pages would hold the server in 6656 pages | vm.nr_hugepages = 6656")
	m = kernel(kernel(machine.New(), "meminfo/HugePages_Total", "1024"), "meminfo/HugePages_Free", "1024")
	found(t, hugePages, m, "notice: 2 GiB are reserved as huge pages, and no program uses them | vm.nr_hugepages = 0")
	if got := pagesFor(180_000<<10, 2<<20); got != 88 { // a peak of 180 000 kB
		t.Errorf("%d pages", got)
	}
}

func TestHugePagesSilent(t *testing.T) {
	found(t, hugePages, machine.New()) // a small pool
	m := kernel(kernel(machine.New(), "meminfo/HugePages_Total", "1024"), "meminfo/HugePages_Free", "10")
	m.S.Host.Process["hugetlbpages"] = 2 << 30
	found(t, hugePages, m)
	// Reserved pages are promised to somebody who has not touched them yet.
	found(t, hugePages, kernel(kernel(kernel(machine.New(), "meminfo/HugePages_Total", "1024"),
		"meminfo/HugePages_Free", "1024"), "meminfo/HugePages_Rsvd", "1000"))
	found(t, hugePages, machine.New().Set("innodb_buffer_pool_size", fmt.Sprint(uint64(12<<30))).
		Set("large_pages", "ON"))
}
