package host

import (
	"fmt"
	"math"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// fromPool is the size of the buffer pool from which the tables of small pages are worth saving: 8 bytes for each 4096
// in every process that maps it, and misses of the TLB on each random access.
const fromPool = 8 << 30

// hugePages finds large pages that are set aside and unused, and as a fact how many a large server would take.
func hugePages(v *advise.View) []finding.Finding {
	const name = "vm.nr_hugepages"
	total, ok := host.Setting(v, "meminfo/HugePages_Total").Get()
	free, ok1 := host.Setting(v, "meminfo/HugePages_Free").Get()
	reserved := host.Setting(v, "meminfo/HugePages_Rsvd").Or(0)
	size, ok2 := host.Setting(v, "meminfo/Hugepagesize").Get()
	if !ok || !ok1 || !ok2 || size <= 0 {
		return nil
	}
	peak := float64(v.Host.Process["vmhwm"])
	want := pagesFor(peak, size)
	f := host.About("huge-pages", name)
	f.Reference = "https://docs.kernel.org/admin-guide/mm/hugetlbpage.html"
	f.Evidence = append(f.Evidence, host.Is("HugePages_Total", fmt.Sprintf("%.0f", total), ""),
		host.Is("HugePages_Free", fmt.Sprintf("%.0f", free), ""))
	mem, memKnown := v.Host.MemBytes.Get()
	switch idle := (free - reserved) * size; {
	case total > 0 && free >= 0.9*total && v.Host.Process["hugetlbpages"] == 0 && memKnown && idle >= 0.05*float64(mem):
		f.Severity, f.Confidence = finding.Notice, finding.Certain
		f.Title = fmt.Sprintf("%s are reserved as huge pages, and no program uses them", unit.Bytes(idle))
		f.Cause = "Memory that is reserved as huge pages serves only programs that ask for such pages. The server " +
			"does not, or was refused: its group and its limit of locked memory must allow it."
		f.Falsify = "Disproved if another program takes the pages at times: then HugePages_Free falls."
		f.Suggestion = "Have the server use them (large_pages = ON, its group in vm.hugetlb_shm_group, LimitMEMLOCK " +
			"= infinity), or release the memory: sysctl -w vm.nr_hugepages=0."
		f.Evidence = append(f.Evidence, host.Measured("huge pages of the server", 0, "B", "> 0", source.HostFacts,
			"The server's process holds none."))
		f.Setting, f.File = []string{name + " = 0"}, host.SysctlFile
		f.Why = []finding.Reason{{Ask: "Are huge pages in use?", Answer: fmt.Sprintf("%.0f of %.0f are free", free,
			total), Source: source.HostFacts}}
		return []finding.Finding{f}
	case total > 0 || v.On("large_pages") || v.Number("innodb_buffer_pool_size").Or(0) < fromPool || peak == 0:
		return nil
	}
	f.Title = fmt.Sprintf("huge pages would hold the server in %d pages", want)
	f.Evidence = append(f.Evidence, host.Measured("peak memory of the server", peak, "B", "", source.HostFacts,
		"At its peak the server held %s, which is %d pages of %s.", unit.Bytes(peak), want, unit.Bytes(size)))
	f.Suggestion = "Worth a trial with a large pool: fewer TLB misses, smaller page tables, and memory that is never " +
		"swapped. Set large_pages = ON in my.cnf and the number below, and measure."
	f.Cost = "The memory then serves nothing else, and the server has to be restarted."
	f.Setting, f.File, f.Restart = []string{fmt.Sprintf("%s = %d", name, want)}, host.SysctlFile, true
	return []finding.Finding{f}
}

// pagesFor returns how many pages of a size hold so many bytes.
func pagesFor(bytes, size float64) int { return int(math.Ceil(bytes / size)) }
