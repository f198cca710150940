package index

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// narrowIndexes finds classes whose index looks up only some of the columns of their conditions and finds far too many
// rows.
func narrowIndexes(v *advise.View, all []group) []finding.Finding { return only(v, all, narrowIndex) }
