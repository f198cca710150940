package fault

import "github.com/dyno-perf/dyno/internal/workload"

// healthyWrites is a server that writes single rows by the right indexes.
func healthyWrites() Fault {
	return Fault{
		Name:  "healthy-writes",
		Title: "healthy: single-row updates and inserts by primary key",
		Story: "The same office on a busy day of writing: updates of one client by id and inserts of one visit. Log " +
			"and memory are large " +
			"enough and commits do not wait for the disk, so nothing is wrong.",
		Kind:     Control,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "healthy-writes", title: "single-row updates by primary key and inserts", rows: 200_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			operations: []operation{updateBalance(50), addVisit(30), addClient(5), getClient(15)},
		},
	}
}
