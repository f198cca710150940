package session

import "github.com/dyno-perf/dyno/internal/advise"

// lockRules are those about locks and transactions.
func lockRules() []advise.Rule {
	return []advise.Rule{
		{
			Name: "idle-transaction", Doc: "A session sleeps in an open transaction while others wait for its locks.",
			Find: idleTransactions,
		},
		{Name: "victim-query", Doc: "Fast statements wait for the locks of a long, active transaction.", Find: victims},
		{Name: "lock-pileup", Doc: "Many transactions wait in turn for the same few rows.", Find: pileups},
	}
}
