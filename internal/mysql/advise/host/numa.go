package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// numa tells of a machine of several nodes whose memory a large pool would fill one after the other.
func numa(v *advise.View) []finding.Finding {
	const name = "innodb_numa_interleave"
	nodes, ok := v.Host.NUMANodes.Get()
	mem, ok1 := v.Host.MemBytes.Get()
	pool, ok2 := v.Number("innodb_buffer_pool_size").Get()
	if _, has := v.Variable(name); !ok || !ok1 || !ok2 || !has || nodes < 2 || v.On(name) ||
		pool <= float64(mem)/float64(nodes) {
		return nil
	}
	f := host.About("numa", name)
	f.Title = fmt.Sprintf("the buffer pool is larger than one of the %d nodes and fills them one after the other",
		nodes)
	f.Evidence = append(f.Evidence, host.Is(name, "OFF", "ON"), host.Measured("nodes", float64(nodes), "", "",
		source.HostFacts, "The machine has %d nodes.", nodes))
	f.Suggestion = "Spread the pool over the nodes, so that none runs out of memory while others have some."
	f.Setting, f.File, f.Restart = []string{name + " = ON"}, "my.cnf", true
	f.Reference = "https://dev.mysql.com/doc/refman/en/innodb-parameters.html#sysvar_innodb_numa_interleave"
	return []finding.Finding{f}
}
