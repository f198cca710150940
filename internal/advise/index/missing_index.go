package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// missing finds classes with a good share of the statement time that read whole tables to find few rows.
func missing(v *advise.View, all []group) []finding.Finding { return only(v, all, missingIndex) }
