package logdigest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// Report gives the value of what was counted so far; the Aggregator goes on counting. It costs memory for every class
// that it shows: with very many, and no limit, use Classes.
func (a *Aggregator) Report(o digest.Options) digest.Report {
	v := viewOf(a, o)
	r := v.report
	r.Classes = make([]digest.Row, 0, len(v.rows))
	for i := range v.rows {
		r.Classes = append(r.Classes, v.class(i))
	}
	return r
}

// Classes returns the Report without its classes, and these one after the other, for as long as nothing is added.
func (a *Aggregator) Classes(o digest.Options) (digest.Report, iter.Seq[digest.Row]) {
	v := viewOf(a, o)
	return v.report, func(yield func(digest.Row) bool) {
		for i := range v.rows {
			if !yield(v.class(i)) {
				return
			}
		}
	}
}

func (h *headers) slotAt(i int) *slot {
	if i < 0 {
		return nil
	}
	return &h.slots[i]
}

// view is a Report in the making.
type view struct {
	*Aggregator
	options digest.Options
	total   *summary
	seconds float64 // sum of Query_time
	sums    []float64
	rows    []ordered
	report  digest.Report
}

type ordered struct {
	class int
	by    float64
	time  float64
}

func micro(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func viewOf(a *Aggregator, o digest.Options) *view {
	v := &view{Aggregator: a, options: o, total: &summary{bare: true}}
	slot := slotIn(o.OrderBy, a)
	timeSlot := slotIn(digest.Order{}, a)
	notes := slices.Clone(o.Notes)
	by := o.OrderBy
	if slot < 0 && by.Key != "" && by.Func != digest.Cnt {
		notes = append(notes, fmt.Sprintf("no statement had an attribute %s to order by: ordered by query_time:sum",
			by.Key))
		by, slot = digest.Order{}, timeSlot
	}
	small := a.summaries == 0 && a.entries <= maxRows
	rows := make([]ordered, 0, len(a.roster.classes))
	for i, c := range a.roster.classes {
		if a.roster.intakes[i].n == 0 {
			continue
		}
		var ranked, timed facts
		if c.sum == nil {
			ranked, timed = a.headers.factsOf(v.total, slot), a.headers.factsOf(v.total, timeSlot)
			a.replay(uint32(i), v.total)
			if needsAll(by) {
				ranked = factsOfList(a, uint32(i), slot)
			} else {
				ranked = a.headers.factsSince(&ranked, v.total, slot)
			}
			timed = a.headers.factsSince(&timed, v.total, timeSlot)
		} else {
			s := a.summaryOf(uint32(i))
			v.total.merge(s, nil, manySteps)
			ranked, timed = a.headers.factsOf(s, slot), a.headers.factsOf(s, timeSlot)
		}
		rows = append(rows, ordered{
			class: i, by: valueOf(by, a.headers.slotAt(slot), &ranked), time: timed.column.sum(1e9),
		})
	}
	for i := range a.spill.bins {
		v.total.column(i).bins.Merge(&a.spill.bins[i])
	}
	slices.SortFunc(rows, func(x, y ordered) int {
		c, d := &a.roster.intakes[x.class], &a.roster.intakes[y.class]
		if n := cmp.Or(cmp.Compare(y.by, x.by), cmp.Compare(d.n, c.n)); n != 0 {
			return n
		}
		switch p, q := c.first(), d.first(); {
		case p.before(q):
			return -1
		case q.before(p):
			return 1
		}
		return slices.Compare(a.roster.classes[x.class].id[:], a.roster.classes[y.class].id[:])
	})
	v.limit(rows)
	v.global(small, timeSlot, notes)
	v.other(rows)
	return v
}

// summaryOf returns the summary of a class, of its list when it has none.
func (a *Aggregator) summaryOf(i uint32) *summary {
	if c := a.roster.classes[i]; c.sum != nil {
		a.flush(i)
		return c.sum
	}
	s := new(summary) // for the reader alone: its distributions are none of those that are counted
	a.replay(i, s)
	return s
}

// limit chooses the rows to be shown.
func (v *view) limit(rows []ordered) {
	l := v.options.Limit
	n := len(rows)
	if l.Count > 0 {
		n = min(n, l.Count)
	}
	if l.Share > 0 {
		var all, sum float64
		for _, x := range rows {
			all += x.by
		}
		for i, x := range rows[:n] {
			if sum >= all*l.Share && i > 0 {
				n = i
				break
			}
			sum += x.by
		}
	}
	v.rows = rows[:n]
}

// global makes the figures over all classes.
func (v *view) global(small bool, timeSlot int, notes []string) {
	a, t := v.Aggregator, v.total
	var exact [][]weighted
	if small {
		exact = exactTimes(a, a.roster.intakes)
	}
	g := &v.report.Global
	v.report.Version, v.report.Dialect = digest.Version, mytext.Dialect{}
	v.report.Skipped = a.skips.report(v.options.Files)
	g.Source = cmp.Or(v.options.Source, "slow_log")
	g.Files = v.options.Files
	g.First, g.Last = micro(t.first), micro(t.last)
	g.Count, g.Entries, g.Classes = t.n, a.entries, len(v.rows)
	g.Skipped, g.SkippedBytes, g.Filtered, g.Own = a.skips.n, a.skips.bytes, a.filtered, a.own
	g.Attributes, g.Flags = a.headers.attributes(t, exact, nil)
	v.sums = make([]float64, len(a.headers.slots))
	for i := range a.headers.slots {
		v.sums[i] = g.Attributes[a.headers.slots[i].info.Key].Sum
	}
	if timeSlot >= 0 {
		v.seconds = v.sums[timeSlot]
	}
	g.QPS, g.Concurrency = rates(t.first, t.last, t.n, v.seconds, timeSlot >= 0)
	g.Classes = 0
	for i := range a.roster.intakes {
		if a.roster.intakes[i].n > 0 {
			g.Classes++
		}
	}
	if a.rated {
		notes = append(notes, "the server logged one of several statements (log_slow_rate_limit): counts and sums "+
			"are multiplied by the rate")
	}
	if a.roster.rest >= 0 {
		notes = append(notes, fmt.Sprintf("more than the maximum of %d classes: statements of further ones are "+
			"counted together as %s", len(a.roster.classes)-1, othersName))
	}
	if a.summaries > maxSummaries {
		notes = append(notes, fmt.Sprintf("more than %d classes of more than %d entries: in some of them only "+
			"query_time has a median and 95 %%", maxSummaries, maxRows))
	}
	if len(a.origins.list) >= maxOrigins {
		notes = append(notes, fmt.Sprintf("more than %d combinations of user, host and database: further ones are "+
			"counted as %s", maxOrigins-1, othersName))
	}
	if a.config.GroupBy == digest.ByTables {
		notes = append(notes, "a statement counts for each of its tables: the figures over all are of tables, not of "+
			"statements")
	}
	g.Notes = notes
}

// rates returns statements per second and the mean number of them at a time between the first and the last; unknown
// without time between.
func rates(first, last int64, n uint64, seconds float64, timed bool) (qps, concurrency known.Value[float64]) {
	if first == 0 || last <= first {
		return qps, concurrency
	}
	span := float64(last-first) / 1e6
	if timed {
		concurrency = known.Of(finite(seconds / span))
	}
	return known.Of(float64(n) / span), concurrency
}

// other sums up the rows that are not shown.
func (v *view) other(rows []ordered) {
	r := &v.report.Other
	for _, x := range rows[len(v.rows):] {
		r.Classes++
		r.Count += v.roster.intakes[x.class].n
		r.QuerySec = finite(r.QuerySec + x.time)
	}
	if v.seconds > 0 {
		r.Share = r.QuerySec / v.seconds
	}
}

// exactTimes gives the values above zero of classes that are lists, by column and in order.
func exactTimes(a *Aggregator, intakes []intake) [][]weighted {
	var columns [][]weighted
	var r row
	for i := range intakes {
		for list := intakes[i].list; len(list) > 0; {
			list = a.next(list, &r)
			for _, x := range r.cells {
				at := &a.headers.layouts[r.layout].places[x.place]
				if at.kind != number {
					continue
				}
				for len(columns) <= int(at.index) {
					columns = append(columns, nil)
				}
				columns[at.index] = append(columns[at.index], weighted{x.value, r.n})
			}
		}
	}
	for _, c := range columns {
		slices.SortFunc(c, func(x, y weighted) int { return cmp.Compare(x.value, y.value) })
	}
	return columns
}

// attributes gives the figures of all attributes that the statements had. all has the sums that shares are of; nil is
// for the whole.
func (h *headers) attributes(s *summary, exact [][]weighted, all []float64) (
	map[string]digest.Figures, map[string]digest.Share,
) {
	figures, flags := map[string]digest.Figures{}, map[string]digest.Share(nil)
	for i := range h.slots {
		sl := &h.slots[i]
		present := h.present(s, i)
		if present == 0 {
			continue
		}
		if sl.flag() {
			var yes uint64
			if sl.index < len(s.flags) {
				yes = s.flags[sl.index]
			}
			if flags == nil {
				flags = map[string]digest.Share{}
			}
			flags[sl.info.Key] = digest.Share{Info: sl.info, Yes: yes, No: present - min(yes, present)}
			continue
		}
		c := new(column)
		if sl.index < len(s.columns) && s.columns[sl.index] != nil {
			c = s.columns[sl.index]
		}
		var values []weighted
		if sl.index < len(exact) {
			values = exact[sl.index]
		}
		f := c.figures(sl, present, values)
		switch {
		case all == nil && f.Sum != 0:
			f.Share = known.Of(1.0)
		case all != nil && all[i] != 0:
			f.Share = known.Of(f.Sum / all[i])
		}
		figures[sl.info.Key] = f
	}
	return figures, flags
}

// class makes the row with that number.
func (v *view) class(i int) digest.Row {
	a, k := v.Aggregator, v.rows[i].class
	c, n := a.roster.classes[k], a.roster.intakes[k].n
	s := a.summaryOf(uint32(k))
	var exact [][]weighted
	if c.sum == nil {
		exact = exactTimes(a, a.roster.intakes[k:k+1])
	}
	r := digest.Row{
		Rank: i + 1, ID: strings.ToUpper(hex.EncodeToString(c.id[:])), Fingerprint: c.text, Count: n,
		Histogram: s.histogram, FirstSeen: micro(s.first), LastSeen: micro(s.last), Killed: s.killed,
	}
	r.Attributes, r.Flags = a.headers.attributes(s, exact, v.sums)
	if v.options.Times {
		r.Times = timesOf(a, s)
	}
	time, timed := r.Attributes[queryTime]
	if v.seconds > 0 {
		r.Share = time.Sum / v.seconds
	}
	r.QPS, r.Concurrency = rates(s.first, s.last, n, time.Sum, timed)
	if d, ok := time.Stddev.Get(); ok && time.Avg > 0 {
		r.VarianceToMean = known.Of(finite(d * d / time.Avg))
	}
	steps := s.minutes
	steps.steps = slices.Clone(steps.steps)
	steps.keep(a.steps())
	r.PerMinute = steps.report()
	name := func(part func(origin) string) func(uint32) string {
		return func(id uint32) string { return part(a.origins.list[id]) }
	}
	r.Users = s.origins.named(name(func(o origin) string { return o.user }))
	r.Hosts = s.origins.named(name(func(o origin) string { return o.host }))
	r.Databases = s.origins.named(name(func(o origin) string { return o.db }))
	r.ErrorCodes = s.errors.named(func(code uint32) string { return fmt.Sprint(code) })
	v.samples(&r, c, time)
	return r
}

// timesOf returns the distribution of the times of a class, nanoseconds; nil where it is not kept, or where there are
// times that no statement takes.
func timesOf(a *Aggregator, s *summary) *sketch.Bins {
	i := slotIn(digest.Order{}, a)
	if i < 0 {
		return nil
	}
	c := new(column)
	if at := a.headers.slots[i].index; at < len(s.columns) && s.columns[at] != nil {
		c = s.columns[at]
	}
	if c.n > 0 && c.bins == nil || c.odd != nil {
		return nil
	}
	b, n := new(sketch.Bins), a.headers.present(s, i)
	if c.bins != nil {
		b.Merge(c.bins)
	}
	b.Add(1, n-min(n, c.n)) // those that took no time that the log can tell
	return b
}

// samples adds what comes from the class's samples.
func (v *view) samples(r *digest.Row, c *class, time digest.Figures) {
	if c.worst == nil {
		return
	}
	r.Worst = v.sample(c.worst)
	if s := c.typical(time.Median.Or(0) * 1e9); s != nil {
		r.Typical = v.sample(s)
	}
	if len(c.worst.plan) > 0 {
		for line := range strings.Lines(string(c.worst.plan)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				r.Plan = append(r.Plan, strings.ToValidUTF8(line, "\uFFFD"))
			}
		}
	}
	switch v.config.GroupBy {
	case digest.ByFingerprint:
		text := bytes.TrimPrefix(c.worst.text, []byte("# "))
		r.Item = mytext.Item(string(text))
		r.Tables = mytext.TableNames(text)
	default:
		r.Item = c.text
	}
}

func (v *view) sample(s *sample) *digest.Sample {
	o := v.origins.list[s.origin]
	return &digest.Sample{
		SQL: string(s.text), Cut: s.cut, Time: micro(s.at), QuerySec: float64(s.time) / 1e9, DB: o.db,
		User: o.user, Host: o.host,
		Thread: s.thread, File: fileName(v.options.Files, s.file), Offset: s.offset,
	}
}
