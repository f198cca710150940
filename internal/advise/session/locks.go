package session

import "dyno/internal/advise"

// lockRules are those about locks and transactions.
func lockRules() []advise.Rule {
	return []advise.Rule{
		{Name: "row-versions", Doc: "An old snapshot keeps row versions that others have to go through.", Find: rowVersions},
		{Name: "idle-transaction", Doc: "A session sleeps in an open transaction while others wait for its locks.", Find: idleTransactions},
		{Name: "victim-query", Doc: "Fast statements wait for the locks of a long transaction that is at work.", Find: victims},
		{Name: "lock-pileup", Doc: "Many transactions wait in turn for the same few rows.", Find: pileups},
		{Name: "mdl-pileup", Doc: "A change of a table waits for somebody who uses it, and all others wait behind it.", Find: metadataPileups},
		{Name: "deadlocks", Doc: "Transactions lock the same rows in different order and are ended for it.", Find: deadlocked},
	}
}
