package index

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// coveringIndexes finds classes whose index finds the right rows, many of them, and that look up each of them for a few
// short columns.
func coveringIndexes(v *advise.View, all []group) []finding.Finding {
	return only(v, all, coveringIndex)
}
