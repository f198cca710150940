package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// desks is how many hot rows there are: the day's total of each desk of the office.
const desks = 2

// lockPileup plants a hot row that transactions change first and hold while they work.
func lockPileup() Fault {
	work := []operation{
		{name: "get_client", sql: getClient(1).sql, args: getClient(1).args},
		{name: "last_visits", sql: lastVisits(1).sql, args: lastVisits(1).args},
		{name: "add_visit", sql: addVisit(1).sql, args: addVisit(1).args},
		// What the application does meanwhile: it asks another service.
		{name: "ask_elsewhere", sql: "DO SLEEP(0.08)"},
	}
	load := func(name string, first bool) workload.Workload {
		steps := append([]operation{addToDesk()}, work...)
		if !first {
			steps = append(append([]operation(nil), work...), addToDesk())
		}
		return shift{
			name: "lock-pileup", title: "transactions that increment a counter in a hot row, " + name, rows: 20_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows), dayTotals(n)}
			},
			groups: []group{{sessions: 1, deals: []deal{
				transaction("serve_client", 90, steps...),
				single(getClient(10)),
			}}},
		}
	}
	return Fault{
		Name:  "lock-pileup",
		Title: "transactions change a hot row first and hold its lock while they work",
		Story: "Every transaction first increments a counter in the row of its desk, of which there are two. Then it " +
			"reads, " +
			"inserts and calls another service before it commits. All other transactions of that desk wait as long. " +
			"The fix is to " +
			"change the hot row last, or in a separate transaction.",
		Kind:     Hurts,
		Threads:  12,
		Settings: sized(),
		Workload: load("at their beginning", true),
		Cure:     Cure{Kind: CureWorkload, Workload: load("at their end", false)},
		expect: func(n names) Expectation {
			return Expectation{Rule: "lock-pileup", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("totals")}}
		},
	}
}

// addToDesk changes a hot row.
func addToDesk() operation {
	return operation{
		"add_to_desk", 1,
		"UPDATE {totals} SET {totals.served} = {totals.served} + 1 WHERE {totals.id} = ?",
		func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(1 + r.Int64N(desks)) },
	}
}

// dayTotals describes the table of hot rows.
func dayTotals(n names) workload.Table {
	return workload.Table{
		Name: n.of("totals"), Rows: desks,
		Create: n.sql("CREATE TABLE {totals} ({totals.id} INT UNSIGNED NOT NULL, {totals.served} BIGINT NOT NULL, " +
			"{totals.cash} DECIMAL(12,2) NOT NULL, " +
			"PRIMARY KEY ({totals.id})) ENGINE=InnoDB"),
		Columns: n.list("totals.id", "totals.served", "totals.cash"),
		Key:     n.of("totals.id"),
		Fill: func(uint64) func(int, func([]workload.Datum)) {
			var l line
			return func(row int, emit func([]workload.Datum)) {
				l.begin()
				l.int(row)
				l.int(0)
				l.text("0.00")
				emit(l.row)
			}
		},
	}
}
