// Package schema holds the rules for tables: keys, types, storage and stored programs. They turn
// symptoms and a snapshot into findings, and change no table.
package schema

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(typeRules(), layoutRules()) }
