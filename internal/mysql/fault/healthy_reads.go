package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// byRegion is the key whose absence is the fault.
const byRegion = ", KEY {clients.by_region} ({clients.region_code})"

// healthyReads is a server that reads by the right indexes.
func healthyReads() fault.Fault {
	return fault.Fault{
		Name:  "healthy-reads",
		Title: "healthy: reads by primary key and by the right indexes",
		Story: "The same office, and every read has its index: clients by id, by region and by ranges of ids, visits " +
			"of one client. " +
			"The server is as busy as it can be, and nothing is wrong with it.",
		Kind:     fault.Control,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID:    "healthy-reads",
			About: "reads by primary key and short ranges, all on the right indexes",
			Rows:  200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{
				fault.GetClient(60),
				fault.ClientRange(20),
				fault.LastVisits(15),
				fault.FindByRegion(5),
			},
		},
	}
}
