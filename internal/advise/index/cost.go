package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/unit"
)

// entryBytes is what InnoDB adds to each entry of a secondary index: the record header of 5 bytes and its share of the
// page's directory and of the space that a sorted build leaves free (1/16).
const entryBytes = 8

// gain compares the work before and after: rows read in order of the table against rows looked up through an index.
func gain(v *advise.View, x scan) *finding.Gain {
	if x.keyed.touched > 0 && x.hidden == "" {
		return keyedGain(x)
	}
	m, ok := x.match.Get()
	if !ok && x.rule == unindexedJoin && !x.c.Sampled && !x.shape.Folded {
		// Of a join all rows returned stand for those that are wanted of the table.
		all, _ := x.read()
		read, ok1 := all.Get()
		sent, ok2 := useful(x).Get()
		m, ok = float64(sent)/max(read, 1), ok1 && ok2 && read > 0
	}
	if !ok {
		return nil
	}
	// A row found through a secondary index is looked up by its primary key and sent, which costs from 5 (in memory,
	// neighbours) to 30 times (another page each) a row that a scan passes over; finding the place costs as much as
	// some 10.
	examined := x.rows
	if all, _ := x.read(); all.OK() && !x.c.Sampled && x.c.Count > 0 {
		examined = all.Or(0) / float64(x.c.Count)
	}
	wanted := m * examined
	lo, hi := examined/(10+30*wanted), examined/(10+5*wanted)
	what, less := "row reads per call of the class", "fewer"
	if mean, ok := x.c.MeanSec().Get(); ok && mean > 0 {
		// What a call costs apart from its rows, parsing and sending, stays: from 50 to 500 µs on a busy
		// server.
		what, less = "time per call of the class", "less"
		lo = min(lo, mean/(mean/lo+500e-6))
		hi = min(hi, mean/(mean/hi+50e-6))
	}
	lo, hi = tidy(max(1, lo)), tidy(max(1, hi))
	if hi < 1.5 {
		return nil
	}
	from := fmt.Sprintf("now %s rows are read per call, then about %s", unit.Count(examined),
		unit.Count(max(1, math.Round(wanted))))
	if x.bound {
		from += " at most"
	}
	return &finding.Gain{What: what, Lo: lo, Hi: hi, Text: fmt.Sprintf("%s to %s times %s %s: %s.", unit.Count(lo),
		unit.Count(hi), less, what, from)}
}

// keyedGain compares what is read by the present index with what is wanted.
func keyedGain(x scan) *finding.Gain {
	before, what := x.keyed.touched, "time per call of the class"
	mean, timed := x.c.MeanSec().Get()
	if x.rule == coveringIndex {
		// An entry costs from a fifth to two thirds of an entry with its row.
		return &finding.Gain{
			What: what, Lo: 1.5, Hi: 5,
			Text: fmt.Sprintf("1.5 to 5 times less %s: of %s each is looked up once instead of twice.", what,
				entries(x)),
		}
	}
	m, ok := x.match.Get()
	if !ok {
		return nil
	}
	after := m * before
	// An entry that is passed over costs from a tenth (its condition is checked within the index) to all of what a row
	// costs that is looked up and sent; finding the place costs as much as some 10.
	lo, hi := (10+before/10)/(10+after), (10+before)/(10+after)
	if timed && mean > 0 {
		lo, hi = min(lo, mean/(mean/lo+500e-6)), min(hi, mean/(mean/hi+50e-6))
	}
	lo, hi = tidy(max(1, lo)), tidy(max(1, hi))
	if hi < 1.5 {
		return nil
	}
	most := ""
	if x.bound {
		most = " at most"
	}
	return &finding.Gain{What: what, Lo: lo, Hi: hi, Text: fmt.Sprintf("%s to %s times less %s: now about %s are "+
		"read per call, then about %s%s.",
		unit.Count(lo), unit.Count(hi), what, entries(x), unit.Count(max(1, math.Round(after))), most)}
}

// tidy keeps two significant digits: the model has no more.
func tidy(f float64) float64 {
	if f < 1 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(f))-1)
	return math.Round(f/p) * p
}

// cost says what the index costs: space, as the change's preview has it, and writes.
func cost(v *advise.View, t schema.Table, w wish) string {
	out := "Space: the number of rows is unknown."
	if size, ok := t.SizeOf(schema.Index{Parts: w.Parts}).Get(); ok && size > 0 {
		out = fmt.Sprintf("Space: about %s for %s rows, by the widths of the columns.", unit.Bytes(size),
			unit.Count(float64(t.Rows.Or(0))))
	}
	writes, sampled, seen := writesTo(v, t, w)
	switch {
	case !seen:
		return out + " Writes: none to this table were observed in the window; each insert, delete and change of " +
			"these columns would write one more entry."
	case sampled:
		return out + fmt.Sprintf(" Writes: about %s to this table, estimated from samples; each writes one more entry.",
			unit.Rate(writes, "rows/s"))
	default:
		return out + fmt.Sprintf(" Writes: %s of this table write one more entry each.", unit.Rate(writes, "rows/s"))
	}
}

// writesTo counts the rows per second that would have to keep the index up to date: those inserted and deleted, and
// those updated in one of its columns.
func writesTo(v *advise.View, t schema.Table, w wish) (perSec float64, sampled, seen bool) {
	for _, c := range v.Writers(t.Ref) {
		if c.Kind == shape.Update && !slices.ContainsFunc(w.Columns, c.Set.Has) {
			continue
		}
		perSec += c.Rows
		sampled = sampled || c.Class.Sampled
		seen = seen || c.Rows > 0
	}
	return perSec, sampled, seen
}
