package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// stalls is how many times a second programs may stop to make room for a large page before it is told as more than a
// fact.
const stalls = 10.0

// transparentHugePages finds a kernel that makes pages large by itself wherever it can.
func transparentHugePages(v *advise.View) []finding.Finding {
	const path = "kernel/mm/transparent_hugepage/enabled"
	mode := chosen(v.Host.Settings[path])
	if mode != "always" {
		return nil
	}
	f := About("transparent-huge-pages", path)
	f.Title = "the kernel uses transparent huge pages everywhere (transparent_hugepage always)"
	f.Evidence = append(f.Evidence, Is("transparent_hugepage/enabled", mode, "madvise or never"))
	f.Suggestion = "Memory allocators release memory in small pieces, which huge pages prevent, so memory grows; and " +
		"assembling huge pages stops threads at times. " +
		"Set it to madvise: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled. Keep it if you have measured " +
		"that it helps."
	f.Setting, f.File = []string{"transparent_hugepage=madvise"}, "the kernel's command line"
	f.Reference = "https://docs.kernel.org/admin-guide/mm/transhuge.html"
	held := v.Last("dyno_server_huge_pages_bytes").Or(0)
	if n, ok := v.Rate("node_vmstat_compact_stall").Get(); ok && n >= stalls && held > 0 {
		f.Severity, f.Confidence = finding.Notice, finding.Possible
		f.Title = fmt.Sprintf("programs stop %s while the kernel makes room for huge pages", unit.Rate(n, "times/s"))
		f.Cause = "With transparent_hugepage always a program that touches new memory may have to wait until the " +
			"kernel has moved other pages away."
		f.Evidence = append(f.Evidence, Measured("compact_stall", n, "1/s", "0", source.Host,
			"Programs stopped for compaction %s.", unit.Rate(n, "times/s")))
		f.Falsify = "Disproved if the longest times of statements stay the same with madvise."
		f.Against = []string{"The kernel counts for the machine: it may have been other programs."}
		f.Why = []finding.Reason{{
			Ask: "Do programs wait for huge pages?", Answer: unit.Rate(n, "times/s"),
			Source: source.Host,
		}}
	}
	return []finding.Finding{f}
}
