package digest

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/suggest"
)

// Limit tells how many classes a Report shows: as many as it takes to reach Share of the sum of what it is ordered by,
// and at most Count.
type Limit struct {
	Share float64 // 0 to 1; 0 = whatever it takes
	Count int     // 0 = any number
}

// ParseLimit reads 20, 95%, 95%:20, and 0 for all classes.
func ParseLimit(s string) (Limit, error) {
	bad := func() (Limit, error) {
		return Limit{}, fmt.Errorf("limit %q: use a number of classes (20), a percentage of all query time (95%%), "+
			"both (95%%:20), or 0 for all", s)
	}
	if strings.EqualFold(s, "all") {
		return Limit{}, nil
	}
	var l Limit
	percent, count, both := strings.Cut(s, "%")
	if !both {
		percent, count = "", s
	} else if count != "" {
		if count = strings.TrimPrefix(count, ":"); count == "" || len(percent)+len(count)+2 != len(s) {
			return bad()
		}
	}
	if both {
		p, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return bad()
		}
		l.Share = p / 100
	}
	if count != "" || !both {
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 {
			return bad()
		}
		l.Count = n
	}
	return l, nil
}

// Order tells what classes are ordered by, the greatest first. The zero Order is Query_time:sum.
type Order struct {
	Key  string // slowlog.Info.Key of an attribute
	Func Func
}

// Func is what is taken of an attribute.
type Func uint8

const (
	Sum Func = iota
	Cnt      // of statements, whatever the attribute
	Min
	Max
	Avg
)

var funcs = []string{"sum", "cnt", "min", "max", "avg"}

func (f Func) String() string { return funcs[f] }

// ParseOrder reads Query_time:sum and its like: an attribute by the servers' name or Dyno's, and sum, cnt, min, max or
// avg.
func ParseOrder(s string) (Order, error) {
	name, fn, ok := strings.Cut(s, ":")
	o := Order{Key: strings.ToLower(name)}
	if !ok {
		fn = "sum"
	}
	for i, f := range funcs {
		if strings.EqualFold(fn, f) || strings.EqualFold(fn, "count") && Func(i) == Cnt {
			o.Func = Func(i)
			if o.Key == "" {
				break
			}
			if better := misspelt(o.Key); better != "" {
				return Order{}, fmt.Errorf("order by %q: no log has an attribute %s, did you mean %s?", s, name, better)
			}
			return o, nil
		}
	}
	return Order{}, fmt.Errorf("order by %q: use an attribute and one of sum, cnt, min, max and avg: Query_time:sum, "+
		"Rows_examined:max", s)
}

// misspelt returns the attribute that was meant by the name of none that is known, "" when it may be one of a server
// that is not known.
func misspelt(key string) string {
	var names []string
	for a := slowlog.Attribute(0); ; a++ {
		x, ok := slowlog.Known(a)
		if !ok {
			break
		}
		if x.Key == key {
			return ""
		}
		names = append(names, x.Name)
	}
	return suggest.Name(key, names, 3)
}

// slotIn returns the number of the attribute to order by; -1 when a has not met it.
func (o Order) slotIn(a *Aggregator) int {
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

// of returns what a class is ordered by.
func (o Order) of(sl *slot, f *facts) float64 {
	switch {
	case o.Func == Cnt || sl == nil:
		return float64(f.n)
	case sl.flag():
		return float64(f.yes)
	case o.Func == Sum:
		return f.column.sum(sl.scale())
	}
	x := f.column.figures(sl, f.present, nil)
	switch o.Func {
	case Min:
		return x.Min.Or(0)
	case Max:
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
func (o Order) needsAll() bool { return o.Func != Sum && o.Func != Cnt }

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
