package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// twoSingles finds classes with equalities on several columns of which each has an index by itself.
func twoSingles(v *advise.View, all []group) []finding.Finding { return only(v, all, twoSingleIndexes) }
