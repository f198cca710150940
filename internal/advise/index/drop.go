package index

import (
	"sync"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// dropRules are those that find an index to drop.
func dropRules() []advise.Rule {
	w := new(using)
	return []advise.Rule{
		{
			Name: "redundant-index", Find: w.rule(redundantIndex),
			Doc: "An index is redundant: another one of the same table serves everything that it serves.",
		},
		{
			Name: "low-cardinality-index", Find: w.rule(lowCardinalityIndex),
			Doc: "An index on a column with few distinct values is written often and is not selective.",
		},
		{
			Name: "unused-index", Find: w.rule(unusedIndex),
			Doc: "No statement has read an index since the server's counters began.",
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
