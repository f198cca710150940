package index

import (
	"sync"

	"dyno/internal/advise"
	"dyno/internal/finding"
)

// dropRules are those that find an index to drop.
func dropRules() []advise.Rule {
	w := new(using)
	return []advise.Rule{
		{
			Name: "redundant-index", Find: w.rule(redundantIndex),
			Doc: "An index finds nothing that another one of the same table would not find as well.",
		},
		{
			Name: "low-cardinality-index", Find: w.rule(lowCardinalityIndex),
			Doc: "An index on a column of a few values is written often and finds nothing.",
		},
		{
			Name: "unused-index", Find: w.rule(unusedIndex),
			Doc: "Nothing has read an index since the server began to count.",
		},
	}
}

// using is what is known of the indexes of a view, worked out once for all rules that ask for it.
type using struct {
	mu   sync.Mutex
	uses *uses
}

func (w *using) rule(find func(*uses) []finding.Finding) func(*advise.View) []finding.Finding {
	return func(v *advise.View) []finding.Finding {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.uses == nil || w.uses.v != v {
			w.uses = usesOf(v)
		}
		return find(w.uses)
	}
}
