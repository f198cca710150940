package digest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/attribute"
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
	Key  string // attribute.Info.Key
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
// avg. What is close to the name of one of the known attributes, and is none, is taken for a slip.
func ParseOrder(s string, known ...attribute.Info) (Order, error) {
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
			if better := misspelt(o.Key, known); better != "" {
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
func misspelt(key string, known []attribute.Info) string {
	var names []string
	for _, x := range known {
		if x.Key == key {
			return ""
		}
		names = append(names, x.Name)
	}
	return suggest.Name(key, names, 3)
}
