package fault

import (
	"github.com/dyno-perf/dyno/internal/workload"

	"github.com/dyno-perf/dyno/internal/dbms"
)

// queryCache plants a query cache under writes to the tables that it holds results of.
func queryCache() Fault {
	return Fault{
		Name:  "query-cache",
		Title: "the query cache is on, and writes empty it all the time",
		Story: "The query cache is switched on with 128 MB. Every write to a table drops all results that come from " +
			"it, one by one under the " +
			"one lock of the cache, which every other statement needs too. The fix is to switch it off.",
		Kind:     Risk,
		Flavors:  []dbms.Flavor{dbms.MariaDB}, // MySQL gave it up in 8.0
		Threads:  8,
		Settings: sizedWith("query_cache_type", "1", "query_cache_size", "128M"),
		Workload: mix{
			name: "query-cache", title: "reads by primary key and short ranges, and updates of the same table, from " +
				"eight sessions", rows: 200_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			operations: []operation{getClient(50), clientRange(20), lastVisits(20), updateBalance(5), addVisit(5)},
		},
		expect: func(n names) Expectation { return Expectation{Rule: "query-cache", Variable: "query_cache_size"} },
	}
}
