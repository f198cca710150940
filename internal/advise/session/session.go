// Package session holds the rules for sessions that affect each other, locks, transactions and
// deadlocks, and for how clients ask. They turn symptoms and a snapshot into findings, and kill no session.
package session

import (
	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return lockRules() }

// ClientRules are those about how clients ask. They are for families of which it has been measured how often they are
// wrong.
func ClientRules() []advise.Rule {
	return []advise.Rule{
		{Name: "n-plus-one", Doc: "The rows that belong to a list are looked up one by one.", Find: nPlusOne},
		{Name: "large-results", Doc: "A class returns so many rows that sending them is the work.", Find: largeResults},
	}
}
