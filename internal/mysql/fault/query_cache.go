package fault

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// queryCache plants a query cache under writes to the tables that it holds results of.
func queryCache() fault.Fault {
	return fault.Fault{
		Name:  "query-cache",
		Title: "the query cache is on, and writes empty it all the time",
		Story: "The query cache is switched on with 128 MB. Every write to a table drops all results that come from " +
			"it, one by one under the " +
			"one lock of the cache, which every other statement needs too. The fix is to switch it off.",
		Kind:     fault.Risk,
		Flavors:  []dbms.Flavor{dbms.MariaDB}, // MySQL gave it up in 8.0
		Threads:  8,
		Settings: sizedWith("query_cache_type", "1", "query_cache_size", "128M"),
		Workload: fault.Mix{
			ID: "query-cache",
			About: "reads by primary key and short ranges, and updates of the same table, from " +
				"eight sessions",
			Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{
				fault.GetClient(50),
				fault.ClientRange(20),
				fault.LastVisits(20),
				fault.UpdateBalance(5),
				fault.AddVisit(5),
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "query-cache", Variable: "query_cache_size"}
		},
	}
}
