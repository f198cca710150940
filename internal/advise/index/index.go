package index

import (
	"slices"

	"dyno/internal/advise"
)

// Rules returns every rule, in the order in which they are asked.
func Rules() []advise.Rule { return slices.Concat(addRules(), dropRules()) }
