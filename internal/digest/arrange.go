package digest

import (
	"cmp"
	"slices"
)

// Arrange puts the classes of a whole report into an order, the greatest first, keeps as many as the limit shows and
// sums up the others in Other. Aggregator.Report does the same without making the classes that it leaves out; this is
// for reports that came about otherwise. An attribute that a class lacks counts as 0.
func Arrange(r *Report, l Limit, o Order) {
	slices.SortStableFunc(r.Classes, func(a, b Row) int {
		return cmp.Or(cmp.Compare(o.value(&b), o.value(&a)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
	})
	var all, sum float64
	for i := range r.Classes {
		all += o.value(&r.Classes[i])
	}
	n := len(r.Classes)
	if l.Count > 0 {
		n = min(n, l.Count)
	}
	for i := range r.Classes[:n] {
		if l.Share > 0 && i > 0 && sum >= all*l.Share {
			n = i
			break
		}
		sum += o.value(&r.Classes[i])
	}
	total := r.Global.Attributes[timeKey].Sum
	for i := range r.Classes[n:] {
		c := &r.Classes[n+i]
		r.Other.Classes++
		r.Other.Count += c.Count
		r.Other.QuerySec += c.Attributes[timeKey].Sum
	}
	if total > 0 {
		r.Other.Share = r.Other.QuerySec / total
	}
	r.Classes = r.Classes[:n]
	for i := range r.Classes {
		r.Classes[i].Rank = i + 1
	}
}

// value returns what a class is ordered by.
func (o Order) value(c *Row) float64 {
	if o.Func == Cnt {
		return float64(c.Count)
	}
	key := cmp.Or(o.Key, timeKey)
	if s, ok := c.Flags[key]; ok {
		return float64(s.Yes)
	}
	f := c.Attributes[key]
	switch o.Func {
	case Min:
		return f.Min.Or(0)
	case Max:
		return f.Max.Or(0)
	case Avg:
		return f.Avg
	default:
		return f.Sum
	}
}
