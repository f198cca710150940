package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// commitFlush plants single statements that each wait for the disk.
func commitFlush() fault.Fault {
	tables := func(n fault.Names, rows int) []workload.Table {
		return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
	}
	operations := []fault.Operation{fault.AddVisit(70), fault.UpdateBalance(25), fault.GetClient(5)}
	m := fault.Mix{
		ID: "commit-flush", About: "inserts and updates of one row that each commit separately", Rows: 100_000,
		Tables: tables, Operations: operations,
	}
	return fault.Fault{
		Name:  "commit-flush",
		Title: "every single-row write commits separately and waits for a slow disk",
		Story: "Two sessions write single rows with autocommit. The log and the binary log are flushed to the disk " +
			"at every commit, as they should " +
			"be where nothing may be lost, and the disk handles a few hundred requests a second. So the writers wait " +
			"for the disk nearly all of the " +
			"time. The fix is to write many rows in one transaction; giving up durability is another option, at the " +
			"risk of losing data.",
		Kind:    fault.Hurts,
		Threads: 2,
		Settings: sizedWith("innodb_flush_log_at_trx_commit", "1", "sync_binlog", "1", "log_bin",
			"binlog", "server_id", "1"),
		Limits:   limit.Limits{WriteIOPS: 400},
		Workload: m,
		Cure:     fault.Cure{Kind: fault.CureWorkload, Workload: grouped{m, 10}},
		Right:    func(n fault.Names) fault.Expectation { return fault.Expectation{Rule: "commit-flush"} },
	}
}
