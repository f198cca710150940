package logdigest

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// headers are the attributes of entries and the layouts that they come in.
type headers struct {
	parser  *slowlog.Parser // who numbers the attributes of entries at the moment
	slots   []slot
	byKey   map[slotKey]int
	layouts []layout
	loose   layout
	last    int // the layout of the entry before
}

// slot is an attribute as the aggregator numbers it. The numbers of a parser hold for its log only, keys everywhere.
type slot struct {
	info  attribute.Info
	index int // of its column, or of its flag
}

// slotKey tells attributes apart. A name that is none of the known ones may stand before Yes in one log and before a
// number in another.
type slotKey struct {
	key  string
	unit attribute.Unit
}

func (s *slot) flag() bool { return s.info.Unit == attribute.Flag }

// scale is how many inner units one unit of the attribute has.
func (s *slot) scale() float64 {
	if s.info.Unit == attribute.Seconds {
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

func (h *headers) layout(i int) *layout {
	if i == loose {
		return &h.loose
	}
	return &h.layouts[i]
}

// noAttribute stands for an attribute that the present parser has no number for.
const noAttribute = ^slowlog.Attribute(0)

// layoutOf returns the number of the entry's layout.
func (h *headers) layoutOf(p *slowlog.Parser, figures []slowlog.Figure) int {
	if p != h.parser {
		h.parser = p
		for i := range h.layouts {
			if l := &h.layouts[i]; l.own {
				l.own = false
				for j := range l.places { // never found again by its numbers, only by its slots
					l.places[j].attribute = noAttribute
				}
			}
		}
	}
	if h.last < len(h.layouts) && h.layouts[h.last].matches(figures) {
		return h.last
	}
	for i := range h.layouts {
		if h.layouts[i].matches(figures) {
			h.last = i
			return i
		}
	}
	i := h.newLayout(p, figures)
	if i != loose {
		h.last = i
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

func (h *headers) newLayout(p *slowlog.Parser, figures []slowlog.Figure) int {
	var l layout
	for _, f := range figures {
		info, ok := slowlog.Known(f.Attribute)
		if !ok {
			l.own = true
			if p != nil {
				info = p.Info(f.Attribute)
			}
		}
		s := h.slotOf(info)
		if slices.Contains(l.slots, s) {
			s = -1
		}
		l.slots = append(l.slots, s)
		l.places = append(l.places, place{attribute: f.Attribute})
	}
	for i := range h.layouts { // one that another parser numbered otherwise
		if have := &h.layouts[i]; slices.Equal(have.slots, l.slots) {
			for j := range l.places {
				have.places[j].attribute = l.places[j].attribute
			}
			have.own = l.own
			return i
		}
	}
	return h.addLayout(l)
}

// addLayout completes and keeps a layout of which slots and attributes are known.
func (h *headers) addLayout(l layout) int {
	h.complete(&l)
	if len(h.layouts) == maxLayouts {
		h.loose = l
		return loose
	}
	h.layouts = append(h.layouts, l)
	return len(h.layouts) - 1
}

func (h *headers) complete(l *layout) {
	l.time = -1
	for i, s := range l.slots {
		at := &l.places[i]
		if s < 0 {
			at.kind = repeated
			continue
		}
		sl := &h.slots[s]
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
func (h *headers) slotOf(info attribute.Info) int {
	key := slotKey{info.Key, info.Unit}
	if i, ok := h.byKey[key]; ok {
		return i
	}
	s := slot{info: info}
	for i := range h.slots {
		if h.slots[i].flag() == s.flag() {
			s.index++
		}
	}
	h.slots = append(h.slots, s)
	h.byKey[key] = len(h.slots) - 1
	return len(h.slots) - 1
}
