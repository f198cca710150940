// Package schema turns symptoms and a snapshot into findings about tables: keys, types, storage, stored programs.
package schema

import (
	"slices"

	"dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(typeRules(), layoutRules()) }
