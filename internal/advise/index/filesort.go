package index

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// filesorts finds classes that read and sort many rows to return the first few, where an index could give the order.
func filesorts(v *advise.View, all []group) []finding.Finding { return only(v, all, filesort) }
