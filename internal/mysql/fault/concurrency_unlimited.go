package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// concurrencyUnlimited plants more running statements than a small machine can do at a time.
func concurrencyUnlimited() fault.Fault {
	return fault.Fault{
		Name:  "concurrency-unlimited",
		Title: "hundreds of sessions run statements at a time, and nothing limits them",
		Story: "192 sessions send statements as fast as they are answered to a server that has a few CPUs. Each " +
			"statement is short and efficient; " +
			"there are just far too many at a time, so they spend their time waiting for a CPU and on context " +
			"switches. The fix is a limit " +
			"in front of the engine or a pool of threads, and fewer connections in the application.",
		Kind:     fault.Risk,
		Threads:  192,
		Settings: sizedWith("max_connections", "400", "loose_innodb_thread_concurrency", "0"),
		Workload: fault.Mix{
			ID:    "concurrency-unlimited",
			About: "sums, reads and updates of single clients, from 192 sessions",
			Rows:  200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{
				fault.GetClient(50),
				sumBalances(5),
				fault.LastVisits(20),
				fault.UpdateBalance(20),
				fault.AddVisit(5),
			},
		},
		Right: func(n fault.Names) fault.Expectation { return fault.Expectation{Rule: "concurrency-unlimited"} },
	}
}
