package index

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// missing finds classes with a good share of the statement time that read whole tables to find few rows.
func missing(v *advise.View, all []group) []finding.Finding { return only(v, all, missingIndex) }
