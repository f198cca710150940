// Package session holds the rules for sessions that affect each other: locks, transactions and
// deadlocks. They turn symptoms and a snapshot into findings, and kill no session.
package session

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(lockRules()) }
