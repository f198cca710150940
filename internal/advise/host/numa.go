package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// numa tells of a machine of several nodes whose memory a large pool would fill one after the other.
func numa(v *advise.View) []finding.Finding {
	nodes, ok := v.Host.NUMANodes.Get()
	if !ok || nodes < 2 {
		return nil
	}
	var out []finding.Finding
	if z, ok := setting(v, "vm.zone_reclaim_mode").Get(); ok && z != 0 {
		f := about("numa", "vm.zone_reclaim_mode")
		f.Title = fmt.Sprintf("the kernel drops the page cache of a node before it uses another one "+
			"(vm.zone_reclaim_mode %.0f)", z)
		f.Evidence = append(f.Evidence, is("vm.zone_reclaim_mode", fmt.Sprintf("%.0f", z), "0"))
		f.Suggestion = "A server uses the memory of all nodes: let the kernel take free pages from any node."
		f.Setting, f.File = []string{"vm.zone_reclaim_mode = 0"}, sysctlFile
		f.Reference = "https://docs.kernel.org/admin-guide/sysctl/vm.html#zone-reclaim-mode"
		out = append(out, f)
	}
	mem, ok := v.Host.MemBytes.Get()
	pool, ok1 := v.Number("innodb_buffer_pool_size").Get()
	if _, has := v.Variable("innodb_numa_interleave"); ok && ok1 && has && !v.On("innodb_numa_interleave") &&
		pool > float64(mem)/float64(nodes) {
		f := about("numa", "innodb_numa_interleave")
		f.Title = fmt.Sprintf("the buffer pool is larger than one of the %d nodes and fills them one after the other",
			nodes)
		f.Evidence = append(f.Evidence, is("innodb_numa_interleave", "OFF", "ON"), measured("nodes", float64(nodes), "",
			"", source.HostFacts, "The machine has %d nodes.", nodes))
		f.Suggestion = "Spread the pool over the nodes, so that none runs out of memory while others have some."
		f.Setting, f.File, f.Restart = []string{"innodb_numa_interleave = ON"}, "my.cnf", true
		f.Reference = "https://dev.mysql.com/doc/refman/en/innodb-parameters.html#sysvar_innodb_numa_interleave"
		out = append(out, f)
	}
	return out
}
