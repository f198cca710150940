package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// swapIn is how many pages a second must come back from the swap: each is a wait for the disk in the middle of
	// something that should have been in memory.
	swapIn = 20.0
	// swapped is the part of the server's memory that must lie in the swap for the pages to be its own.
	swapped = 0.005
	// lowSwappiness keeps the kernel from swapping a server out in favour of its page cache, and still lets it where
	// memory is short.
	lowSwappiness = 10
)

// swapping finds memory of the server in the swap that is wanted back, and as a fact a kernel that is eager to swap.
func swapping(v *advise.View) []finding.Finding {
	const name = "vm.swappiness"
	s, known := Setting(v, name).Get()
	size, sized := v.Last("node_memory_SwapTotal_bytes").Get()
	if sized && size == 0 || !sized && !known {
		return nil // nowhere to swap to
	}
	f := About("swapping", name)
	f.Reference = "https://docs.kernel.org/admin-guide/sysctl/vm.html#swappiness"
	in, seen := v.Rate("node_vmstat_pswpin").Get()
	own, rss := float64(v.Host.Process["vmswap"]), float64(v.Host.Process["vmrss"])
	if seen && in >= swapIn && own > 0 && own >= swapped*(own+rss) {
		f.Severity, f.Confidence = finding.Warning, finding.Likely
		f.Title = fmt.Sprintf("%s of the server's memory is in swap, and the machine reads %s back", unit.Bytes(own),
			unit.Rate(in, "pages/s"))
		f.Cause = "The server and the other programs of the machine need more memory than there is. A page of the " +
			"buffer pool that comes from swap is as slow as one from its file, and stops a thread that may hold locks."
		f.Evidence = append(f.Evidence, Measured("memory of the server in swap", own, "B", "0", source.HostFacts,
			"%s of the server's memory is in swap.", unit.Bytes(own)),
			Measured("pages read from swap", in, "1/s", fmt.Sprintf("< %.0f", swapIn), source.Host,
				"The machine read %s from swap.", unit.Rate(in, "pages/s")))
		f.Against = append(f.Against,
			"The pages read may be of other programs: the kernel counts them for the machine.")
		f.Falsify = "Disproved if the server's own major faults do not grow while pages are read."
		f.Suggestion = "Give the buffer pool or the sessions less memory, or the machine more; then make the kernel " +
			"keep what is in use."
		f.Share, f.Explains = 0.3, []string{advise.EffectMemory}
		f.Why = []finding.Reason{
			{Ask: "Is the server's memory in swap?", Answer: unit.Bytes(own) + " of it", Source: source.HostFacts},
			{Ask: "Is it read back?", Answer: unit.Rate(in, "pages/s") + " are read", Source: source.Host},
		}
	} else if !known || s <= lowSwappiness || rss == 0 {
		return nil
	} else {
		f.Title = fmt.Sprintf("vm.swappiness is %.0f: the kernel may swap the server out to keep its page cache", s)
		f.Suggestion = "A server with its own cache needs its memory kept."
		f.Evidence = append(f.Evidence, Measured("memory of the server in swap", own, "B", "0", source.HostFacts,
			"%s of the server's memory is in swap now.", unit.Bytes(own)))
	}
	if known {
		f.Evidence = append(f.Evidence, Is(name, fmt.Sprintf("%.0f", s), "1 to 10"))
		if s > lowSwappiness {
			f.Setting, f.File = []string{"vm.swappiness = 1"}, SysctlFile
			f.Suggestion += " Try it with sysctl -w vm.swappiness=1."
		}
	}
	return []finding.Finding{f}
}
