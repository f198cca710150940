package index

import "dyno/internal/advise"

// dropRules are those that find an index to drop.
func dropRules() []advise.Rule {
	return []advise.Rule{
		{Name: "redundant-index", Doc: "An index finds nothing that another one of the same table would not find as well.", Find: redundantIndex},
		{Name: "low-cardinality-index", Doc: "An index on a column of a few values is written often and finds nothing.", Find: lowCardinalityIndex},
		{Name: "unused-index", Doc: "Nothing has read an index since the server began to count.", Find: unusedIndex},
	}
}
