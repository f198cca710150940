package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// desks is how many hot rows there are: the day's total of each desk of the office.
const desks = 2

// lockPileup plants a hot row that transactions change first and hold while they work.
func lockPileup() fault.Fault {
	work := []fault.Operation{
		{Name: "get_client", SQL: fault.GetClient(1).SQL, Args: fault.GetClient(1).Args},
		{Name: "last_visits", SQL: fault.LastVisits(1).SQL, Args: fault.LastVisits(1).Args},
		{Name: "add_visit", SQL: fault.AddVisit(1).SQL, Args: fault.AddVisit(1).Args},
		// What the application does meanwhile: it asks another service.
		{Name: "ask_elsewhere", SQL: "DO SLEEP(0.08)"},
	}
	load := func(name string, first bool) workload.Workload {
		steps := append([]fault.Operation{addToDesk()}, work...)
		if !first {
			steps = append(append([]fault.Operation(nil), work...), addToDesk())
		}
		return shift{
			name: "lock-pileup", title: "transactions that increment a counter in a hot row, " + name, rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows), dayTotals(n)}
			},
			groups: []group{{sessions: 1, deals: []deal{
				transaction("serve_client", 90, steps...),
				single(fault.GetClient(10)),
			}}},
		}
	}
	return fault.Fault{
		Name:  "lock-pileup",
		Title: "transactions change a hot row first and hold its lock while they work",
		Story: "Every transaction first increments a counter in the row of its desk, of which there are two. Then it " +
			"reads, " +
			"inserts and calls another service before it commits. All other transactions of that desk wait as long. " +
			"The fix is to " +
			"change the hot row last, or in a separate transaction.",
		Kind:     fault.Hurts,
		Threads:  12,
		Settings: sized(),
		Workload: load("at their beginning", true),
		Cure:     fault.Cure{Kind: fault.CureWorkload, Workload: load("at their end", false)},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule:  "lock-pileup",
				Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("totals")},
			}
		},
	}
}

// addToDesk changes a hot row.
func addToDesk() fault.Operation {
	return fault.Operation{
		Name: "add_to_desk", Weight: 1,
		SQL:  "UPDATE {totals} SET {totals.served} = {totals.served} + 1 WHERE {totals.id} = ?",
		Args: func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1 + r.Int64N(desks)) },
	}
}

// dayTotals describes the table of hot rows.
func dayTotals(n fault.Names) workload.Table {
	return workload.Table{
		Name: n.Of("totals"), Rows: desks,
		Create: n.SQL("CREATE TABLE {totals} ({totals.id} INT UNSIGNED NOT NULL, {totals.served} BIGINT NOT NULL, " +
			"{totals.cash} DECIMAL(12,2) NOT NULL, " +
			"PRIMARY KEY ({totals.id})) ENGINE=InnoDB"),
		Columns: n.List("totals.id", "totals.served", "totals.cash"),
		Key:     n.Of("totals.id"),
		Fill: func(uint64) func(int, func([]workload.Datum)) {
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				l.Begin()
				l.Int(row)
				l.Int(0)
				l.Text("0.00")
				emit(l.Row)
			}
		},
	}
}
