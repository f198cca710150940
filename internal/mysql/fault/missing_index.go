package fault

import (
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// missingIndex plants an equality on a column without index, all in memory.
func missingIndex() Fault {
	return Fault{
		Name:  "missing-index",
		Title: "clients are looked up by a column that has no index",
		Story: "A table of 400 000 clients, all in memory, is searched for the clients of one region. The column has " +
			"no index, so every " +
			"search reads the whole table to return some 160 rows. CPUs are busy, disks idle, and all other " +
			"statements wait for a CPU: reads by " +
			"primary key, updates and inserts run at the same time and use the right indexes. The fix is a key on " +
			"the column.",
		Kind:       Hurts,
		PostgreSQL: true,
		Threads:    4,
		Settings:   sized(),
		Workload: mix{
			name: "missing-index", title: "clients looked up by region without an index, and reads and writes by " +
				"primary key", rows: 400_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, ""), visits(n, rows)}
			},
			operations: []operation{
				findByRegion(50), getClient(28), lastVisits(10), updateBalance(5),
				addVisit(5), addClient(2),
			},
		},
		expect: func(n names) Expectation {
			return Expectation{Rule: "missing-index", Table: schema.Ref{
				Schema: n.of(schemaKey),
				Table:  n.of("clients"),
			}, Columns: n.list("clients.region_code")}
		},
	}
}
