package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// deadlocks plants two transactions that lock the same rows in opposite order.
func deadlocks() fault.Fault {
	take := func(key string) fault.Operation {
		return fault.Operation{
			Name: key, Weight: 1, SQL: "UPDATE {totals} SET {" + key + "} = {" + key + "} + 1 WHERE {totals.id} = ?",
			Args: func(_ *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1) },
		}
	}
	served, cash := take("totals.served"), take("totals.cash")
	cash.Args = func(_ *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(2) }
	served.Name, cash.Name = "count_served", "add_cash"
	some := []fault.Operation{
		{Name: "get_client", SQL: fault.GetClient(1).SQL, Args: fault.GetClient(1).Args},
		{Name: "last_visits", SQL: fault.LastVisits(1).SQL, Args: fault.LastVisits(1).Args},
	}
	load := func(name string, steps ...fault.Operation) workload.Workload {
		one := append(append([]fault.Operation{served}, some...), cash)
		return shift{
			name: "deadlocks", title: "two kinds of transactions over the same two rows, " + name, rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows), dayTotals(n)}
			},
			groups: []group{
				{sessions: 1, think: 2 * time.Millisecond, deals: []deal{transaction("serve_client", 1, one...)}},
				{sessions: 1, think: 2 * time.Millisecond, deals: []deal{transaction("take_payment", 1, steps...)}},
			},
		}
	}
	return fault.Fault{
		Name:  "deadlocks",
		Title: "two kinds of transactions lock the same rows in opposite order",
		Story: "Serving a client changes the number of those served and then the cash, taking a payment changes the " +
			"cash and then the number. " +
			"When two meet, each holds what the other needs, and the server ends one of them with an error: its work " +
			"is lost and has " +
			"to be done again. The fix is to change the two in the same order everywhere.",
		Kind:     fault.Risk,
		Threads:  8,
		Settings: sized(),
		Workload: load("in opposite order", append(append([]fault.Operation{cash}, some...), served)...),
		Cure: fault.Cure{Kind: fault.CureWorkload, Workload: load("in the same order",
			append(append([]fault.Operation{served}, some...), cash)...)},
		Belongs: map[string]string{"lock-pileup": "transactions that do not meet in opposite order still wait in " +
			"turn for the same rows"},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule:  "deadlocks",
				Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("totals")},
			}
		},
	}
}
