package fault

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// redundantIndex plants an index that is the front of another one.
func redundantIndex() fault.Fault {
	return fault.Fault{
		Name:  "redundant-index",
		Title: "an index is a left prefix of another one",
		Story: "Visits have an index on the client and one on client and time. Whatever the first can find the " +
			"second finds as well, but every new " +
			"visit is written into both, and both take space in the buffer pool. The fix is to drop the shorter one.",
		Kind:     fault.Risk,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "redundant-index", About: "reads by primary key and by one of two equal indexes, and inserts",
			Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				v := visits(n, rows)
				v.Create = insertKey(v.Create, n.SQL("KEY {visits.by_client_only} ({visits.client_id})"))
				return []workload.Table{clients(n, rows, ""), v}
			},
			Operations: []fault.Operation{fault.GetClient(30), fault.LastVisits(20), fault.AddVisit(50)},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "redundant-index", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("visits")},
				Columns: n.List("visits.client_id"),
				Index:   n.Of("visits.by_client_only"),
			}
		},
	}
}

// insertKey adds a key to a CREATE TABLE.
func insertKey(create, key string) string {
	i := strings.LastIndex(create, ") ENGINE")
	return create[:i] + ", " + key + create[i:]
}
