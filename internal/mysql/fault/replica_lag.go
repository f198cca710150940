package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// replicaLag plants a replica that applies one transaction after the other while its source commits many at a time.
func replicaLag() fault.Fault {
	return fault.Fault{
		Name:  "replica-lag",
		Title: "a replica applies with one thread what its source writes with many",
		Story: "Eight sessions write to the source, which flushes its logs now and then. Its replica applies the " +
			"same writes one after the other in " +
			"a single thread and flushes at every commit, so its lag keeps growing. The fix is to apply in parallel.",
		Kind:     fault.Risk,
		Threads:  8,
		Settings: sizedWith("log_bin", "binlog", "server_id", "1"),
		Replica: sizedWith("innodb_flush_log_at_trx_commit", "1", "sync_binlog", "1", "log_bin", "binlog",
			"loose_slave_parallel_threads", "0", "loose_replica_parallel_workers", "1"),
		Workload: fault.Mix{
			ID: "replica-lag", About: "updates and inserts of single rows, from eight sessions", Rows: 100_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{fault.UpdateBalance(60), fault.AddVisit(30), fault.AddClient(10)},
		},
		Right: func(n fault.Names) fault.Expectation { return fault.Expectation{Rule: "replica-lag"} },
	}
}
