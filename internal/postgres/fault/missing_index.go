package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// missingIndex plants an equality on a column without index, all in memory.
func missingIndex() fault.Fault {
	return fault.Fault{
		Name:  "missing-index",
		Title: "clients are looked up by a column that has no index",
		Story: "A table of 400 000 clients, all in memory, is searched for the clients of one region. The column has " +
			"no index, so every search reads the whole table to return some 160 rows. CPUs are busy, disks idle, and " +
			"all other statements wait for a CPU: reads by primary key, updates and inserts run at the same time and " +
			"use the right indexes. The fix is a key on the column.",
		Kind:    fault.Hurts,
		Threads: 4,
		Workload: inDatabase{fault.Mix{
			ID: "missing-index", About: "clients looked up by region without an index, and reads and writes by " +
				"primary key", Rows: 400_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows), visits(n, rows)}
			},
			Operations: []fault.Operation{
				fault.FindByRegion(50), fault.GetClient(28), fault.LastVisits(10), fault.UpdateBalance(5),
				fault.AddVisit(5), fault.AddClient(2),
			},
		}},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "missing-index", Table: schema.Ref{Schema: "public", Table: n.Of("clients")},
				Columns: n.List("clients.region_code"),
			}
		},
	}
}
