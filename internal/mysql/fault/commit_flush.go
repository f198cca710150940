package fault

import (
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// commitFlush plants single statements that each wait for the disk.
func commitFlush() Fault {
	tables := func(n names, rows int) []workload.Table {
		return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
	}
	operations := []operation{addVisit(70), updateBalance(25), getClient(5)}
	m := mix{
		name: "commit-flush", title: "inserts and updates of one row that each commit separately", rows: 100_000,
		tables: tables, operations: operations,
	}
	return Fault{
		Name:  "commit-flush",
		Title: "every single-row write commits separately and waits for a slow disk",
		Story: "Two sessions write single rows with autocommit. The log and the binary log are flushed to the disk " +
			"at every commit, as they should " +
			"be where nothing may be lost, and the disk handles a few hundred requests a second. So the writers wait " +
			"for the disk nearly all of the " +
			"time. The fix is to write many rows in one transaction; giving up durability is another option, at the " +
			"risk of losing data.",
		Kind:    Hurts,
		Threads: 2,
		Settings: sizedWith("innodb_flush_log_at_trx_commit", "1", "sync_binlog", "1", "log_bin",
			"binlog", "server_id", "1"),
		Limits:   limit.Limits{WriteIOPS: 400},
		Workload: m,
		Cure:     Cure{Kind: CureWorkload, Workload: grouped{m, 10}},
		expect:   func(n names) Expectation { return Expectation{Rule: "commit-flush"} },
	}
}
