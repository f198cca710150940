package fault

import "github.com/dyno-perf/dyno/internal/workload"

// byRegion is the key whose absence is the fault.
const byRegion = ", KEY {clients.by_region} ({clients.region_code})"

// healthyReads is a server that reads by the right indexes.
func healthyReads() Fault {
	return Fault{
		Name:  "healthy-reads",
		Title: "healthy: reads by primary key and by the right indexes",
		Story: "The same office, and every read has its index: clients by id, by region and by ranges of ids, visits " +
			"of one client. " +
			"The server is as busy as it can be, and nothing is wrong with it.",
		Kind:     Control,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "healthy-reads", title: "reads by primary key and short ranges, all on the right indexes",
			rows: 200_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			operations: []operation{getClient(60), clientRange(20), lastVisits(15), findByRegion(5)},
		},
	}
}
