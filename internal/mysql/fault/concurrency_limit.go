package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// concurrencyLimit plants a limit of one thread inside the engine under a load that could use every CPU.
func concurrencyLimit() fault.Fault {
	return fault.Fault{
		Name:  "concurrency-limit",
		Title: "the engine lets one statement in at a time, and the others queue",
		Story: "innodb_thread_concurrency is 1, as an old recipe has it. A report reads two clients and at each " +
			"waits for something outside " +
			"of the database, and it keeps its place in the engine while it waits. A statement that finds the engine " +
			"occupied sleeps and tries again, while " +
			"CPUs and disks are free. The fix is the default, 0: no limit.",
		Kind:     fault.Hurts,
		Flavors:  []dbms.Flavor{dbms.MySQL}, // MariaDB gave the limit up in 10.6
		Threads:  8,
		Settings: sizedWith("loose_innodb_thread_concurrency", "1"),
		Workload: fault.Mix{
			ID: "concurrency-limit", About: "a report that waits and reads by primary key, from eight sessions",
			Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{slowReport(30), fault.GetClient(50), fault.LastVisits(20)},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "concurrency-limit", Variable: "innodb_thread_concurrency"}
		},
	}
}

// slowReport reads two clients and waits at each, still inside of the engine. SLEEP stands for a function that calls
// something far away.
func slowReport(weight int) fault.Operation {
	return fault.Operation{
		Name: "slow_report", Weight: weight,
		SQL: "SELECT {clients.city}, {clients.balance}, SLEEP(0.02) FROM {clients} WHERE {clients.id} BETWEEN ? AND ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + r.Int64N(int64(rows))
			args[0], args[1] = workload.Int(from), workload.Int(from+1)
		},
	}
}

// sumBalances reads a few thousand neighbours by primary key and returns one row.
func sumBalances(weight int) fault.Operation {
	return fault.Operation{
		Name: "sum_balances", Weight: weight,
		SQL: "SELECT COUNT(*), SUM({clients.balance}) FROM {clients} WHERE {clients.id} BETWEEN ? AND ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + r.Int64N(int64(rows))
			args[0], args[1] = workload.Int(from), workload.Int(from+3999)
		},
	}
}
