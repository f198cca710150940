package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// filesorts finds classes that read and sort many rows to return the first few, where an index could give the order.
func filesorts(v *advise.View, all []group) []finding.Finding { return only(v, all, filesort) }
