package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// numa tells of a machine of several nodes whose kernel prefers to clear away pages of one to using another.
func numa(v *advise.View) []finding.Finding {
	nodes, ok := v.Host.NUMANodes.Get()
	z, ok1 := Setting(v, "vm.zone_reclaim_mode").Get()
	if !ok || !ok1 || nodes < 2 || z == 0 {
		return nil
	}
	f := About("numa", "vm.zone_reclaim_mode")
	f.Title = fmt.Sprintf("the kernel drops the page cache of a node before it uses another one "+
		"(vm.zone_reclaim_mode %.0f)", z)
	f.Evidence = append(f.Evidence, Is("vm.zone_reclaim_mode", fmt.Sprintf("%.0f", z), "0"))
	f.Suggestion = "A server uses the memory of all nodes: let the kernel take free pages from any node."
	f.Setting, f.File = []string{"vm.zone_reclaim_mode = 0"}, SysctlFile
	f.Reference = "https://docs.kernel.org/admin-guide/sysctl/vm.html#zone-reclaim-mode"
	return []finding.Finding{f}
}
