// Package session turns symptoms and a snapshot into findings about what sessions do to each other: locks, transactions, deadlocks.
package session

import (
	"slices"

	"dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(lockRules()) }
