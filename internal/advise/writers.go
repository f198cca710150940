package advise

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
)

// mostWriters is how many classes that write are looked into, those with the most time first.
const mostWriters = 1000

// Writer is a class that writes rows of a table.
type Writer struct {
	Class class.Class
	Kind  shape.Kind
	Set   shape.Names // columns that an UPDATE assigns
	Rows  float64     // per second
}

// Writers returns the classes that write rows of a table, the one with the most time first.
func (v *View) Writers(t schema.Ref) []Writer {
	if v.writers == nil {
		v.writers = writersOf(v)
	}
	return v.writers[t]
}

func writersOf(v *View) map[schema.Ref][]Writer {
	writers := map[schema.Ref][]Writer{}
	if v.Window <= 0 {
		return writers
	}
	var writing []class.Class
	for _, c := range v.Classes {
		verb, _, _ := strings.Cut(strings.TrimLeft(c.Fingerprint, " ("), " ")
		if slices.Contains([]string{"insert", "replace", "update", "delete", "load"}, verb) {
			writing = append(writing, c)
		}
	}
	slices.SortStableFunc(writing, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	for _, c := range writing[:min(len(writing), mostWriters)] {
		sh, err := v.Shape(c)
		if err != nil || len(sh.Tables) == 0 {
			continue
		}
		t, ok := v.Resolve(c, sh.Tables[0])
		if !ok {
			continue
		}
		rows := float64(c.Count)
		if a, ok := c.Affected.Get(); ok {
			rows = float64(a)
		}
		w := Writer{Class: c, Kind: sh.Kind, Set: shape.NamesOf(sh.Set), Rows: rows / v.Window}
		writers[t.Ref] = append(writers[t.Ref], w)
	}
	return writers
}
