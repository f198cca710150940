package digest

import (
	"maps"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
)

// Names returns the short form of a class, as Row.Item has it, and the tables in it, as Row.Tables has them.
type Names func(c queryclass.Class) (item string, tables []string)

// OfClasses makes a report of what a server counted of its classes in a window, most time first. g tells the window;
// its sums are worked out here. Of figures that are sums only the average is known, and everything where a class was
// executed once.
func OfClasses(classes []queryclass.Class, g Global, name Names) Report {
	r := Report{Version: Version, Classes: []Row{}, Skipped: []Skip{}}
	g.Attributes, g.Classes = map[string]Figures{}, len(classes)
	sec := g.Ended.Sub(g.Began).Seconds()
	for _, c := range classes {
		row := rowOf(c, sec, name)
		row.FirstSeen, row.LastSeen = within(c.FirstSeen, g.Began), within(c.LastSeen, g.Ended)
		g.Count += c.Count
		for k, f := range row.Attributes {
			x := g.Attributes[k]
			g.Attributes[k] = OfSum(f.Info, x.Count+f.Count, x.Sum+f.Sum)
		}
		r.Classes = append(r.Classes, row)
	}
	g.Entries = g.Count
	if sec > 0 {
		g.QPS = known.Of(float64(g.Count) / sec)
		g.Concurrency = known.Of(g.Attributes[timeKey].Sum / sec)
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		for _, k := range slices.Collect(maps.Keys(c.Attributes)) {
			f := c.Attributes[k]
			if all := g.Attributes[k].Sum; all > 0 {
				f.Share = known.Of(f.Sum / all)
				c.Attributes[k] = f
			}
		}
		c.Share = c.Attributes[timeKey].Share.Or(0)
	}
	for _, k := range slices.Collect(maps.Keys(g.Attributes)) {
		if f := g.Attributes[k]; f.Sum > 0 {
			f.Share = known.Of(1.0)
			g.Attributes[k] = f
		}
	}
	r.Global = g
	Arrange(&r, Limit{}, Order{})
	return r
}

// within is the end of the window for a time that the server does not tell.
func within(t, end time.Time) time.Time {
	if t.IsZero() {
		return end
	}
	return t
}

func rowOf(c queryclass.Class, sec float64, name Names) Row {
	item, tables := name(c)
	row := Row{
		ID: c.ID, Fingerprint: c.Fingerprint, Item: item, Tables: tables, Count: c.Count,
		Sampled: c.Sampled, Attributes: map[string]Figures{},
	}
	add := func(a attribute.Info, v known.Value[float64]) {
		if sum, ok := v.Get(); ok {
			row.Attributes[a.Key] = OfSum(a, c.Count, sum)
		}
	}
	count := func(a attribute.Info, v known.Value[uint64]) {
		if n, ok := v.Get(); ok {
			add(a, known.Of(float64(n)))
		}
	}
	add(attribute.QueryTime, known.Of(c.TimeSec))
	add(attribute.LockTime, c.LockSec)
	add(attribute.CPUTime, c.CPUSec)
	count(attribute.RowsSent, c.RowsSent)
	count(attribute.RowsExamined, c.Examined)
	count(attribute.RowsAffected, c.Affected)
	count(attribute.PagesAccessed, c.Pages)
	count(attribute.PagesRead, c.PagesRead)
	count(attribute.Errors, c.Errors)
	if sec > 0 {
		row.QPS, row.Concurrency = known.Of(float64(c.Count)/sec), known.Of(c.TimeSec/sec)
	}
	for _, u := range c.Users {
		n := uint64(0) // with several it is not known who ran how many
		if len(c.Users) == 1 {
			n = c.Count
		}
		row.Users = append(row.Users, Tally{Name: u, Count: n})
	}
	if c.Schema != "" {
		row.Databases = []Tally{{Name: c.Schema, Count: c.Count}}
	}
	return row
}

// OfSum is all that a sum tells of n values that are not negative.
func OfSum(i attribute.Info, n uint64, sum float64) Figures {
	f := Figures{Info: i, Count: n, Sum: sum}
	if n > 0 {
		f.Avg = sum / float64(n)
	}
	if n == 1 || n > 0 && sum == 0 { // each of them is the average
		v := known.Of(f.Avg)
		f.Min, f.Max, f.P95, f.Median, f.Stddev = v, v, v, v, known.Of(0.0)
	}
	return f
}
