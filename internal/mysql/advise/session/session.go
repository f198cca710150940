// Package session holds the rules for locks, transactions and deadlocks that need to know how the
// engine works or what its texts say. They turn symptoms and a snapshot into findings, and kill no
// session.
package session

import "github.com/dyno-perf/dyno/internal/advise"

// Rules returns every rule.
func Rules() []advise.Rule {
	return []advise.Rule{
		{
			Name: "row-versions", Doc: "An old snapshot keeps row versions that other sessions have to read through.",
			Find: rowVersions,
		},
		{
			Name: "mdl-pileup", Doc: "A DDL statement waits for a session that uses the table, and all others wait " +
				"behind it.",
			Find: metadataPileups,
		},
		{
			Name: "held-lock", Doc: "A session keeps others waiting by a global lock, a locked table, a lock of the " +
				"application or a change of a definition.",
			Find: heldLocks,
		},
		{
			Name: "deadlocks", Doc: "Transactions each hold what the other needs, all the time.",
			Find: deadlocked,
		},
	}
}
