package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// unindexedJoins finds joins that read a whole table for the rows of another one, because nothing looks the join up.
func unindexedJoins(v *advise.View, all []group) []finding.Finding {
	return only(v, all, unindexedJoin)
}
