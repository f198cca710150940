package fault

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// redundantIndex plants an index that is the front of another one.
func redundantIndex() Fault {
	return Fault{
		Name:  "redundant-index",
		Title: "an index is a left prefix of another one",
		Story: "Visits have an index on the client and one on client and time. Whatever the first can find the " +
			"second finds as well, but every new " +
			"visit is written into both, and both take space in the buffer pool. The fix is to drop the shorter one.",
		Kind:     Risk,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "redundant-index", title: "reads by primary key and by one of two equal indexes, and inserts",
			rows: 200_000,
			tables: func(n names, rows int) []workload.Table {
				v := visits(n, rows)
				v.Create = insertKey(v.Create, n.sql("KEY {visits.by_client_only} ({visits.client_id})"))
				return []workload.Table{clients(n, rows, ""), v}
			},
			operations: []operation{getClient(30), lastVisits(20), addVisit(50)},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "redundant-index", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("visits")},
				Columns: n.list("visits.client_id"),
				Index:   n.of("visits.by_client_only"),
			}
		},
	}
}

// insertKey adds a key to a CREATE TABLE.
func insertKey(create, key string) string {
	i := strings.LastIndex(create, ") ENGINE")
	return create[:i] + ", " + key + create[i:]
}
