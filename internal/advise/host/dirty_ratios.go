package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// largeDirty is how much written and unsynced data makes a sync a matter of seconds on a usual disk.
	largeDirty = 1 << 30
	// backgroundBytes is where writing back should begin: about a quarter of what a usual disk writes in a second.
	backgroundBytes = 64 << 20
	// mostBytes is where programs are made to write themselves.
	mostBytes = 512 << 20
)

// dirtyRatios tells how much written data may pile up in the page cache before the kernel writes it back.
func dirtyRatios(v *advise.View) []finding.Finding {
	mem, ok := v.Host.MemBytes.Get()
	ratio, ok1 := Setting(v, "vm.dirty_background_ratio").Get()
	bytes := Setting(v, "vm.dirty_background_bytes").Or(0)
	if !ok || !ok1 {
		return nil
	}
	// The kernel reckons with what is available; all of the memory is the upper end.
	begins := ratio / 100 * float64(mem)
	if bytes > 0 { // Setting one of the two sets the other to 0
		begins = bytes
	}
	if begins < largeDirty {
		return nil
	}
	f := About("dirty-ratios", "vm.dirty_background_bytes", "vm.dirty_bytes")
	f.Title = fmt.Sprintf("up to %s of dirty data may pile up before the kernel starts writeback", unit.Bytes(begins))
	f.Evidence = append(f.Evidence,
		Is("vm.dirty_background_ratio", fmt.Sprintf("%.0f", ratio), ""), Is("vm.dirty_background_bytes",
			fmt.Sprintf("%.0f", bytes), fmt.Sprintf("about %d", backgroundBytes)))
	if d, ok := v.Last("node_memory_Dirty_bytes").Get(); ok {
		f.Evidence = append(f.Evidence, Measured("dirty pages", d, "B", "", source.Host,
			"%s wait to be written now.", unit.Bytes(d)))
	}
	f.Suggestion = "What a server writes through the page cache (binary logs, temporary files, tables without " +
		"O_DIRECT, dumps) is then written in long bursts that log syncs have to wait for. " +
		"Start writeback early: at a quarter of what the disk writes in a second. Setting the bytes sets the ratios " +
		"to 0, and vice versa."
	f.Setting = []string{
		fmt.Sprintf("vm.dirty_background_bytes = %d", backgroundBytes),
		fmt.Sprintf("vm.dirty_bytes = %d", mostBytes),
	}
	f.File = SysctlFile
	f.Cost = "More and smaller writes. To undo, set the ratios again, which clears the bytes."
	f.Reference = "https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-background-bytes"
	return []finding.Finding{f}
}
