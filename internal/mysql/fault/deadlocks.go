package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// deadlocks plants two transactions that lock the same rows in opposite order.
func deadlocks() Fault {
	take := func(key string) operation {
		return operation{
			key, 1, "UPDATE {totals} SET {" + key + "} = {" + key + "} + 1 WHERE {totals.id} = ?",
			func(_ *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1) },
		}
	}
	served, cash := take("totals.served"), take("totals.cash")
	cash.args = func(_ *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(2) }
	served.name, cash.name = "count_served", "add_cash"
	some := []operation{
		{name: "get_client", sql: getClient(1).sql, args: getClient(1).args},
		{name: "last_visits", sql: lastVisits(1).sql, args: lastVisits(1).args},
	}
	load := func(name string, steps ...operation) workload.Workload {
		one := append(append([]operation{served}, some...), cash)
		return shift{
			name: "deadlocks", title: "two kinds of transactions over the same two rows, " + name, rows: 20_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows), dayTotals(n)}
			},
			groups: []group{
				{sessions: 1, think: 2 * time.Millisecond, deals: []deal{transaction("serve_client", 1, one...)}},
				{sessions: 1, think: 2 * time.Millisecond, deals: []deal{transaction("take_payment", 1, steps...)}},
			},
		}
	}
	return Fault{
		Name:  "deadlocks",
		Title: "two kinds of transactions lock the same rows in opposite order",
		Story: "Serving a client changes the number of those served and then the cash, taking a payment changes the " +
			"cash and then the number. " +
			"When two meet, each holds what the other needs, and the server ends one of them with an error: its work " +
			"is lost and has " +
			"to be done again. The fix is to change the two in the same order everywhere.",
		Kind:     Risk,
		Threads:  8,
		Settings: sized(),
		Workload: load("in opposite order", append(append([]operation{cash}, some...), served)...),
		Cure: Cure{Kind: CureWorkload, Workload: load("in the same order",
			append(append([]operation{served}, some...), cash)...)},
		Belongs: map[string]string{"lock-pileup": "transactions that do not meet in opposite order still wait in " +
			"turn for the same rows"},
		expect: func(n names) Expectation {
			return Expectation{Rule: "deadlocks", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("totals")}}
		},
	}
}
