package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// promised is the part of what a strict kernel may promise above which the next large allocation is likely to be
// refused.
const promised = 0.9

// overcommit finds a kernel that promises memory strictly and has little left to promise.
func overcommit(v *advise.View) []finding.Finding {
	const name = "vm.overcommit_memory"
	mode, ok := Setting(v, name).Get()
	if !ok || mode != 2 {
		return nil // 0 and 1 refuse next to nothing
	}
	f := About("overcommit", name)
	f.Reference = "https://docs.kernel.org/mm/overcommit-accounting.html"
	f.Evidence = append(f.Evidence, Is(name, "2", "0"))
	limit, ok1 := v.Last("node_memory_CommitLimit_bytes").Get()
	used, ok2 := v.Last("node_memory_Committed_AS_bytes").Get()
	f.Setting, f.File = []string{name + " = 0"}, SysctlFile
	if !ok1 || !ok2 || limit <= 0 || used < promised*limit {
		f.Title = "the kernel commits no more memory than it has (vm.overcommit_memory 2)"
		f.Suggestion = "Buffers that a server allocates and never fills count in full. Keep it if the machine is " +
			"sized for that; otherwise 0 refuses only obvious overcommits."
		return []finding.Finding{f}
	}
	f.Severity, f.Confidence = finding.Warning, finding.Likely
	f.Title = fmt.Sprintf("%s of %s that the kernel may commit are committed: the next allocation may be refused",
		unit.Bytes(used), unit.Bytes(limit))
	f.Cause = "With vm.overcommit_memory 2 the kernel counts what programs allocate, used or not, and refuses beyond " +
		"its limit. Then statements fail for lack of memory, or the server does not start, although memory is free."
	f.Evidence = append(f.Evidence, Measured("memory committed", used, "B",
		fmt.Sprintf("< %s", unit.Bytes(promised*limit)), source.Host, "%s of %s are committed.",
		unit.Bytes(used), unit.Bytes(limit)))
	f.Falsify = "Disproved if Committed_AS falls without any change: a program held much for a moment."
	f.Suggestion = "Raise vm.overcommit_ratio, or set vm.overcommit_memory to 0, which refuses only obvious " +
		"overcommits."
	f.Cost = "With 0 a machine that runs out of memory kills a program instead of refusing an allocation."
	f.Why = []finding.Reason{{
		Ask: "How much more may the kernel commit?", Answer: unit.Bytes(max(0, limit-used)),
		Source: source.Host,
	}}
	return []finding.Finding{f}
}
