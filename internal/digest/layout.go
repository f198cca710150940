package digest

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/slowlog"
)

// slot is an attribute as the aggregator numbers it. The numbers of a parser hold for its log only, keys everywhere.
type slot struct {
	info  slowlog.Info
	index int // of its column, or of its flag
}

// slotKey tells attributes apart. A name that is none of the known ones may stand before Yes in one log and before a
// number in another.
type slotKey struct {
	key  string
	unit slowlog.Unit
}

func (s *slot) flag() bool { return s.info.Unit == slowlog.Flag }

// scale is how many inner units one unit of the attribute has.
func (s *slot) scale() float64 {
	if s.info.Unit == slowlog.Seconds {
		return 1e9
	}
	return 1
}

// place is one position of a layout.
type place struct {
	attribute slowlog.Attribute // the parser's number
	kind      kind
	index     uint16 // of the column or flag
	scale     float64
}

type kind uint8

const (
	number kind = iota
	flag
	repeated // the attribute stands earlier in the header: the first counts
)

// layout is the list of attributes of an entry, in the log's order. All entries of one verbosity share it.
type layout struct {
	places []place
	slots  []int  // of every position; -1 for a repeated one
	has    []bool // by slot
	time   int    // position of Query_time, -1 = it has none
	own    bool   // it holds attributes that only the present parser numbers so
}

// maxLayouts bounds the layouts; servers write a handful. Entries of others, as a damaged log may have them, are
// counted figure by figure: their layout is loose.
const (
	maxLayouts = 256
	loose      = -1
)

func (a *Aggregator) layout(i int) *layout {
	if i == loose {
		return &a.loose
	}
	return &a.layouts[i]
}

// noAttribute stands for an attribute that the present parser has no number for.
const noAttribute = ^slowlog.Attribute(0)

// layoutOf returns the number of the entry's layout.
func (a *Aggregator) layoutOf(p *slowlog.Parser, figures []slowlog.Figure) int {
	if p != a.parser {
		a.parser = p
		for i := range a.layouts {
			if l := &a.layouts[i]; l.own {
				l.own = false
				for j := range l.places { // never found again by its numbers, only by its slots
					l.places[j].attribute = noAttribute
				}
			}
		}
	}
	if a.last < len(a.layouts) && a.layouts[a.last].matches(figures) {
		return a.last
	}
	for i := range a.layouts {
		if a.layouts[i].matches(figures) {
			a.last = i
			return i
		}
	}
	i := a.newLayout(p, figures)
	if i != loose {
		a.last = i
	}
	return i
}

func (l *layout) matches(figures []slowlog.Figure) bool {
	if len(l.places) != len(figures) {
		return false
	}
	for i := range figures {
		if l.places[i].attribute != figures[i].Attribute {
			return false
		}
	}
	return true
}

func (a *Aggregator) newLayout(p *slowlog.Parser, figures []slowlog.Figure) int {
	var l layout
	for _, f := range figures {
		info, ok := slowlog.Known(f.Attribute)
		if !ok {
			l.own = true
			if p != nil {
				info = p.Info(f.Attribute)
			}
		}
		s := a.slotOf(info)
		if slices.Contains(l.slots, s) {
			s = -1
		}
		l.slots = append(l.slots, s)
		l.places = append(l.places, place{attribute: f.Attribute})
	}
	for i := range a.layouts { // one that another parser numbered otherwise
		if have := &a.layouts[i]; slices.Equal(have.slots, l.slots) {
			for j := range l.places {
				have.places[j].attribute = l.places[j].attribute
			}
			have.own = l.own
			return i
		}
	}
	return a.addLayout(l)
}

// addLayout completes and keeps a layout of which slots and attributes are known.
func (a *Aggregator) addLayout(l layout) int {
	a.complete(&l)
	if len(a.layouts) == maxLayouts {
		a.loose = l
		return loose
	}
	a.layouts = append(a.layouts, l)
	return len(a.layouts) - 1
}

func (a *Aggregator) complete(l *layout) {
	l.time = -1
	for i, s := range l.slots {
		at := &l.places[i]
		if s < 0 {
			at.kind = repeated
			continue
		}
		sl := &a.slots[s]
		at.index, at.scale = uint16(sl.index), sl.scale()
		if sl.flag() {
			at.kind = flag
		} else if sl.info.Key == queryTime {
			l.time = i
		}
		for len(l.has) <= s {
			l.has = append(l.has, false)
		}
		l.has[s] = true
	}
}

// queryTime is the key of the attribute that matters most.
const queryTime = "query_time"

// slotOf returns the number of an attribute.
func (a *Aggregator) slotOf(info slowlog.Info) int {
	key := slotKey{info.Key, info.Unit}
	if i, ok := a.byKey[key]; ok {
		return i
	}
	s := slot{info: info}
	for i := range a.slots {
		if a.slots[i].flag() == s.flag() {
			s.index++
		}
	}
	a.slots = append(a.slots, s)
	a.byKey[key] = len(a.slots) - 1
	return len(a.slots) - 1
}
