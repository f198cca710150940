package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// healthyWrites is a server that writes single rows by the right indexes.
func healthyWrites() fault.Fault {
	return fault.Fault{
		Name:  "healthy-writes",
		Title: "healthy: single-row updates and inserts by primary key",
		Story: "The same office on a busy day of writing: updates of one client by id and inserts of one visit. Log " +
			"and memory are large " +
			"enough and commits do not wait for the disk, so nothing is wrong.",
		Kind:     fault.Control,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID:    "healthy-writes",
			About: "single-row updates by primary key and inserts",
			Rows:  200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{
				fault.UpdateBalance(50),
				fault.AddVisit(30),
				fault.AddClient(5),
				fault.GetClient(15),
			},
		},
	}
}
