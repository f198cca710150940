package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// indexScans finds classes that read a whole index, because it does not begin with what they look for.
func indexScans(v *advise.View, all []group) []finding.Finding { return only(v, all, indexScan) }
