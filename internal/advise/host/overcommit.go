package host

import (
	"fmt"

	"dyno/internal/advise"
	"dyno/internal/finding"
	"dyno/internal/unit"
)

// promised is the part of what a strict kernel may promise above which the next large allocation is likely to be refused.
const promised = 0.9

// overcommit finds a kernel that promises memory strictly and has little left to promise.
func overcommit(v *advise.View) []finding.Finding {
	const name = "vm.overcommit_memory"
	mode, ok := setting(v, name).Get()
	if !ok || mode != 2 {
		return nil // 0 and 1 refuse next to nothing
	}
	f := about("overcommit", name)
	f.Reference = "https://docs.kernel.org/mm/overcommit-accounting.html"
	f.Evidence = append(f.Evidence, is(name, "2", "0"))
	limit, ok1 := v.Last("node_memory_CommitLimit_bytes").Get()
	used, ok2 := v.Last("node_memory_Committed_AS_bytes").Get()
	f.Setting, f.File = []string{name + " = 0"}, sysctlFile
	if !ok1 || !ok2 || limit <= 0 || used < promised*limit {
		f.Title = "the kernel promises no more memory than it has (vm.overcommit_memory 2)"
		f.Suggestion = "Buffers that a server asks for and never fills count in full. Leave it if the machine is sized for that; else 0 refuses only what is obviously too much."
		return []finding.Finding{f}
	}
	f.Severity, f.Confidence = finding.Warning, finding.Likely
	f.Title = fmt.Sprintf("%s of %s that the kernel may promise are promised: the next allocation may be refused", unit.Bytes(used), unit.Bytes(limit))
	f.Cause = "With vm.overcommit_memory 2 the kernel counts what programs ask for, used or not, and refuses beyond its limit. Then statements fail for want of memory, or the server does not start, with memory free."
	f.Evidence = append(f.Evidence, measured("memory promised", used, "B", fmt.Sprintf("< %s", unit.Bytes(promised*limit)), "host", "%s of %s are promised.", unit.Bytes(used), unit.Bytes(limit)))
	f.Falsify = "It is wrong if Committed_AS falls by itself: somebody held much for a moment."
	f.Suggestion = "Raise vm.overcommit_ratio, or set vm.overcommit_memory to 0, which refuses only what is obviously too much."
	f.Cost = "With 0 a machine that does run out of memory ends a program in place of refusing an allocation."
	f.Why = []finding.Reason{{Ask: "How much may the kernel still promise?", Answer: unit.Bytes(max(0, limit-used)), Source: "host"}}
	return []finding.Finding{f}
}
