package index

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// indexOrders finds indexes that hold all columns of a class's conditions in an order that serves only part of them: a
// range before an equality.
func indexOrders(v *advise.View, all []group) []finding.Finding { return only(v, all, indexOrder) }
