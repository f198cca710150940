package digest

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/slowlog"
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
	to := a.renumber(b)
	for i := range b.spill.bins {
		if i < len(to.columns) {
			a.spill.column(to.columns[i]).Merge(&b.spill.bins[i])
		}
	}
	for j, c := range b.classes {
		i := a.classOf(c.id, []byte(c.text))
		if j == b.rest && a.rest < 0 {
			a.rest = int(i)
		}
		a.mergeClass(i, j, to)
	}
}

// Take is Merge for a b that is not needed any more: it is empty from then on. To take the first is free.
func (a *Aggregator) Take(b *Aggregator) {
	if len(a.classes) > 0 || a.entries+a.filtered+a.own+a.skips.n > 0 {
		a.Merge(b)
		*b = *New(b.config)
		return
	}
	*a, *b = *b, *New(b.config)
}

// renumber finds a's numbers for what b numbered.
func (a *Aggregator) renumber(b *Aggregator) *renumber {
	to := &renumber{from: b}
	for _, x := range b.origins.list {
		to.origins = append(to.origins, int(a.origins.number(x)))
	}
	for i := range b.slots {
		s := &b.slots[i]
		n := a.slotOf(s.info)
		to.slots = append(to.slots, n)
		list := &to.columns
		if s.flag() {
			list = &to.flags
		}
		for len(*list) <= s.index {
			*list = append(*list, 0)
		}
		(*list)[s.index] = a.slots[n].index
	}
	for i := range b.layouts {
		to.layouts = append(to.layouts, a.layoutWith(to.places(&b.layouts[i])))
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
func (a *Aggregator) layoutWith(l layout) int {
	for i := range a.layouts {
		if slices.Equal(a.layouts[i].slots, l.slots) {
			return i
		}
	}
	l.own = slices.ContainsFunc(l.places, func(at place) bool { return at.attribute == noAttribute })
	return a.addLayout(l)
}

// mergeClass adds class j of the other aggregator to class i.
func (a *Aggregator) mergeClass(i uint32, j int, to *renumber) {
	c, in := a.classes[i], &a.intakes[i]
	o, from := to.from.classes[j], &to.from.intakes[j]
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
			a.packer.pack(&r, a.base, len(a.layouts[n].places))
		} else {
			a.loose = to.places(&to.from.layouts[r.layout])
			a.complete(&a.loose)
			r.layout, r.packed = loose, false
		}
		a.count(i, &r)
	}
	a.mergeSamples(i, o, to)
}
