package logdigest

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// Merge adds what b counted. The Report of the result is that of all entries whatever the order of merging, as long as
// both count by equal Configs and number the files alike; only with more classes than Config.MaxClasses, or texts of
// samples beyond bounds, the order decides what is left out. b stays usable, but parts of it are shared from then on:
// add nothing to it.
func (a *Aggregator) Merge(b *Aggregator) {
	if a.base == 0 {
		a.base = b.base
	}
	a.entries += b.entries
	a.filtered += b.filtered
	a.own += b.own
	a.rated = a.rated || b.rated
	a.skips.merge(&b.skips)
	to := newRenumber(a, b)
	for i := range b.spill.bins {
		if i < len(to.columns) {
			a.spill.column(to.columns[i]).Merge(&b.spill.bins[i])
		}
	}
	for j, c := range b.roster.classes {
		i := a.roster.classOf(c.id, []byte(c.text))
		if j == b.roster.rest && a.roster.rest < 0 {
			a.roster.rest = int(i)
		}
		to.mergeClass(a, i, j)
	}
	a.skipOdd(0, 0)
}

// Take is Merge for a b that is not needed any more: it is empty from then on. To take the first is free.
func (a *Aggregator) Take(b *Aggregator) {
	if len(a.roster.classes) > 0 || a.entries+a.filtered+a.own+a.skips.n > 0 {
		a.Merge(b)
		*b = *New(b.config)
		return
	}
	*a, *b = *b, *New(b.config)
}

// newRenumber finds a's numbers for what b numbered.
func newRenumber(a, b *Aggregator) *renumber {
	to := &renumber{from: b}
	for _, x := range b.origins.list {
		to.origins = append(to.origins, int(a.origins.number(x)))
	}
	for i := range b.headers.slots {
		s := &b.headers.slots[i]
		n := a.headers.slotOf(s.info)
		to.slots = append(to.slots, n)
		list := &to.columns
		if s.flag() {
			list = &to.flags
		}
		for len(*list) <= s.index {
			*list = append(*list, 0)
		}
		(*list)[s.index] = a.headers.slots[n].index
	}
	for i := range b.headers.layouts {
		to.layouts = append(to.layouts, a.headers.layoutWith(to.places(&b.headers.layouts[i])))
	}
	return to
}

// places returns a layout of another aggregator with this one's slots, incomplete.
func (to *renumber) places(l *layout) layout {
	n := layout{own: true}
	for i, s := range l.slots {
		if s >= 0 {
			s = to.slots[s]
		}
		n.slots = append(n.slots, s)
		at := place{attribute: l.places[i].attribute}
		if at.attribute >= slowlog.FirstUnknown {
			at.attribute = noAttribute
		}
		n.places = append(n.places, at)
	}
	return n
}

// layoutWith returns the number of the layout with l's slots, making it.
func (h *headers) layoutWith(l layout) int {
	for i := range h.layouts {
		if slices.Equal(h.layouts[i].slots, l.slots) {
			return i
		}
	}
	l.own = slices.ContainsFunc(l.places, func(at place) bool { return at.attribute == noAttribute })
	return h.addLayout(l)
}

// mergeClass adds class j of the other aggregator to class i.
func (to *renumber) mergeClass(a *Aggregator, i uint32, j int) {
	c, in := a.roster.classes[i], &a.roster.intakes[i]
	o, from := to.from.roster.classes[j], &to.from.roster.intakes[j]
	if from.n == 0 {
		return
	}
	if in.n == 0 || from.first().before(in.first()) {
		in.setFirst(from.first())
	}
	if o.sum != nil {
		a.flush(i)
		c.sum.merge(o.sum, to, a.steps())
		in.n += o.sum.n
	}
	var r row
	for list := from.list; len(list) > 0; {
		list = to.from.next(list, &r)
		r.origin = uint32(to.origins[r.origin])
		if n := to.layouts[r.layout]; n != loose {
			r.layout, r.packed = n, true
			a.packer.pack(&r, a.base, len(a.headers.layouts[n].places))
		} else {
			a.headers.loose = to.places(&to.from.headers.layouts[r.layout])
			a.headers.complete(&a.headers.loose)
			r.layout, r.packed = loose, false
		}
		a.count(i, &r)
	}
	a.roster.mergeSamples(i, o, to)
}
