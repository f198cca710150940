package logdigest

import (
	"math/bits"

	"github.com/dyno-perf/dyno/internal/digest"
)

// slotIn returns the number of the attribute to order by; -1 when a has not met it.
func slotIn(o digest.Order, a *Aggregator) int {
	key := o.Key
	if key == "" {
		key = queryTime
	}
	for i := range a.headers.slots {
		if s := &a.headers.slots[i]; s.info.Key == key {
			return i
		}
	}
	return -1
}

// facts are what a class has of one attribute.
type facts struct {
	n       uint64 // statements
	present uint64 // of them, with the attribute
	yes     uint64 // of them, with the flag set
	column  column
}

// valueOf returns what a class is ordered by.
func valueOf(o digest.Order, sl *slot, f *facts) float64 {
	switch {
	case o.Func == digest.Cnt || sl == nil:
		return float64(f.n)
	case sl.flag():
		return float64(f.yes)
	case o.Func == digest.Sum:
		return f.column.sum(sl.scale())
	}
	x := f.column.figures(sl, f.present, nil)
	switch o.Func {
	case digest.Min:
		return x.Min.Or(0)
	case digest.Max:
		return x.Max.Or(0)
	default:
		return x.Avg
	}
}

// factsOf returns the facts of a class that has a summary.
func (h *headers) factsOf(s *summary, slot int) (f facts) {
	f.n = s.n
	if slot < 0 {
		return f
	}
	f.present = h.present(s, slot)
	switch i := h.slots[slot].index; {
	case h.slots[slot].flag():
		if i < len(s.flags) {
			f.yes = s.flags[i]
		}
	case i < len(s.columns) && s.columns[i] != nil:
		f.column = *s.columns[i]
	}
	return f
}

// needsAll reports whether more than sums are asked for.
func needsAll(o digest.Order) bool { return o.Func != digest.Sum && o.Func != digest.Cnt }

// factsSince returns what came to a summary since it had the facts before: numbers and sums.
func (h *headers) factsSince(before *facts, s *summary, slot int) facts {
	f := h.factsOf(s, slot)
	f.n -= before.n
	f.present -= before.present
	f.yes -= before.yes
	var borrow uint64
	f.column.sumLow, borrow = bits.Sub64(f.column.sumLow, before.column.sumLow, 0)
	f.column.sumHigh, _ = bits.Sub64(f.column.sumHigh, before.column.sumHigh, borrow)
	f.column.odd = nil // a list has none
	return f
}

// factsOfList returns those of a class that is a list.
func factsOfList(a *Aggregator, i uint32, slot int) (f facts) {
	r := &a.replayed
	for list := a.roster.intakes[i].list; len(list) > 0; {
		list = a.next(list, r)
		f.n += r.n
		l := &a.headers.layouts[r.layout]
		if slot < 0 || slot >= len(l.has) || !l.has[slot] {
			continue
		}
		f.present += r.n
		for _, c := range r.cells {
			if l.slots[c.place] != slot {
				continue
			}
			if l.places[c.place].kind == flag {
				f.yes += r.n
			} else {
				f.column.add(c.value, r.n)
			}
		}
	}
	return f
}
