package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
)

// indexOrders finds indexes that hold all columns of a class's conditions in an order that serves only part of them: a range before an equality.
func indexOrders(v *advise.View, all []group) []finding.Finding { return only(v, all, indexOrder) }
