package logdigest

import "github.com/dyno-perf/dyno/internal/sketch"

// summary is what is kept of many entries.
type summary struct {
	n           uint64 // statements
	entries     uint64
	first, last int64 // microseconds since 1970; 0 = no entry told
	histogram   [8]uint64
	layouts     tallies  // statements by layout
	loose       []uint64 // statements by slot, of loose layouts
	columns     []*column
	flags       []uint64 // statements with the flag set, by its index
	origins     tallies
	errors      tallies // by number
	killed      uint64
	minutes     minutes
	// only is the index of the column that alone keeps its distribution, + 1; 0 when all do. Those of the others go to
	// spill.
	only  int
	spill *spill
	bare  bool // of all classes together: origins, errors and minutes are not asked for
}

// add counts a row. steps bounds the per-minute counts.
func (s *summary) add(r *row, l *layout, steps int) {
	s.addEntry(r, l, steps)
	for _, c := range r.cells {
		at := &l.places[c.place]
		i := int(at.index)
		if at.kind == flag {
			s.flag(i, r.n)
			continue
		}
		col := s.column(i)
		col.add(c.value, r.n)
		if col.bins == nil {
			s.spill.column(i).Add(float64(c.value), r.n)
		}
	}
	for _, o := range r.odd {
		s.column(int(l.places[o.place].index)).addOdd(o.value, r.n, s.spill)
	}
}

// addValues counts values of single statements for a column.
func (s *summary) addValues(i int, values []uint64) {
	col := s.column(i)
	col.addAll(values)
	if col.bins == nil {
		s.spill.column(i).AddAll(values)
	}
}

func (s *summary) flag(i int, n uint64) {
	if i >= len(s.flags) {
		s.flags = grown(s.flags, i)
	}
	s.flags[i] += n
}

// addEntry counts all of a row but its values.
func (s *summary) addEntry(r *row, l *layout, steps int) {
	s.n += r.n
	s.entries++
	if r.layout != loose {
		s.layouts.add(uint32(r.layout), r.n)
	} else {
		for _, i := range l.slots {
			if i >= 0 {
				s.loose = grown(s.loose, i)
				s.loose[i] += r.n
			}
		}
	}
	if r.hasTime {
		s.histogram[decade(r.time)] += r.n
	}
	if s.bare {
		s.seen(r.at, r.at)
		return
	}
	s.origins.add(r.origin, r.n)
	if r.errno != 0 {
		s.errors.add(r.errno, r.n)
	}
	if r.killed != 0 {
		s.killed += r.n
	}
	if r.at != 0 {
		s.seen(r.at, r.at)
		t := r.time
		if t < limit {
			t *= r.n
		} else { // no time that a statement takes: it would drown the others
			t = 0
		}
		s.minutes.add(r.at, step{r.n, t}, steps)
	}
}

func (s *summary) seen(first, last int64) {
	if first != 0 && (s.first == 0 || first < s.first) {
		s.first = first
	}
	if last != 0 && (s.last == 0 || last > s.last) {
		s.last = last
	}
}

func grown(list []uint64, i int) []uint64 {
	for len(list) <= i {
		list = append(list, 0)
	}
	return list
}

// column returns the column with that index, making it.
func (s *summary) column(i int) *column {
	for len(s.columns) <= i {
		s.columns = append(s.columns, nil)
	}
	if s.columns[i] == nil {
		s.columns[i] = new(column)
		if room := s.spill == nil || s.spill.kept < maxDistributions; s.only == 0 && room || s.only == i+1 {
			s.columns[i].bins = new(sketch.Bins)
			if s.spill != nil {
				s.spill.kept++
			}
		}
	}
	return s.columns[i]
}

// present returns how many statements had the attribute.
func (h *headers) present(s *summary, slot int) uint64 {
	var n uint64
	if slot < len(s.loose) {
		n = s.loose[slot]
	}
	s.layouts.each(func(id uint32, k uint64) {
		if has := h.layouts[id].has; slot < len(has) && has[slot] {
			n += k
		}
	})
	return n
}

// decades are the bounds of Row.Histogram, nanoseconds.
var decades = [7]uint64{1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10}

func decade(ns uint64) int {
	i := 0
	if ns >= decades[3] {
		i = 4
	}
	for i < len(decades) && ns >= decades[i] {
		i++
	}
	return i
}

// renumber maps the numbers of one aggregator to those of another. A nil one says that they are the same.
type renumber struct {
	from                                    *Aggregator
	origins, layouts, slots, columns, flags []int
}

// merge adds what another aggregator's summary counted.
func (s *summary) merge(o *summary, to *renumber, steps int) {
	s.n += o.n
	s.entries += o.entries
	s.seen(o.first, o.last)
	for i, n := range o.histogram {
		s.histogram[i] += n
	}
	o.layouts.each(func(id uint32, n uint64) {
		switch {
		case to == nil:
			s.layouts.add(id, n)
		case to.layouts[id] != loose:
			s.layouts.add(uint32(to.layouts[id]), n)
		default:
			for _, i := range to.from.headers.layouts[id].slots {
				if i >= 0 {
					i = to.slots[i]
					s.loose = grown(s.loose, i)
					s.loose[i] += n
				}
			}
		}
	})
	s.loose = sum(s.loose, o.loose, to.slot)
	s.flags = sum(s.flags, o.flags, to.flag)
	for i, c := range o.columns {
		if c != nil {
			i = to.column(i)
			s.column(i).merge(c, i, s.spill)
		}
	}
	if s.bare {
		return
	}
	o.origins.each(func(id uint32, n uint64) {
		if to != nil {
			id = uint32(to.origins[id])
		}
		s.origins.add(id, n)
	})
	o.errors.each(s.errors.add)
	s.killed += o.killed
	s.minutes.merge(&o.minutes, steps)
}

func sum(dst, src []uint64, to func(int) int) []uint64 {
	for i, n := range src {
		if n > 0 {
			j := to(i)
			dst = grown(dst, j)
			dst[j] += n
		}
	}
	return dst
}

func (to *renumber) slot(i int) int {
	if to == nil {
		return i
	}
	return to.slots[i]
}

func (to *renumber) column(i int) int {
	if to == nil {
		return i
	}
	return to.columns[i]
}

func (to *renumber) flag(i int) int {
	if to == nil {
		return i
	}
	return to.flags[i]
}
