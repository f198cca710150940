package session

import "github.com/dyno-perf/dyno/internal/advise"

// lockRules are those about locks and transactions.
func lockRules() []advise.Rule {
	return []advise.Rule{
		{
			Name: "row-versions", Doc: "An old snapshot keeps row versions that other sessions have to read through.",
			Find: rowVersions, MySQL: true,
		},
		{
			Name: "idle-transaction", Doc: "A session sleeps in an open transaction while others wait for its locks.",
			Find: idleTransactions,
		},
		{Name: "victim-query", Doc: "Fast statements wait for the locks of a long, active transaction.", Find: victims},
		{Name: "lock-pileup", Doc: "Many transactions wait in turn for the same few rows.", Find: pileups},
		{Name: "mdl-pileup", Doc: "A DDL statement waits for a session that uses the table, and all others wait " +
			"behind it.", Find: metadataPileups, MySQL: true},
		{
			Name: "deadlocks", Doc: "Transactions lock the same rows in different order and deadlock.",
			Find: deadlocked, MySQL: true,
		},
	}
}
