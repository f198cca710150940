package logdigest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// logOf writes a log in which every entry has the figures given.
func logOf(headers ...string) []byte {
	var b strings.Builder
	for i, h := range headers {
		fmt.Fprintf(&b, "# Time: 2026-01-02T03:04:%02d.000000Z\n# User@Host: app[app] @ web [10.0.0.1]  Id: %d\n# "+
			"Query_time: 0.500000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: %d\n%sSET "+
			"timestamp=1767323%03d;\nselect %d;\n", i%60, i, i, h, i%1000, i)
	}
	return []byte(b.String())
}

func parse(t *testing.T, a *Aggregator, p *slowlog.Parser, log []byte, offset int64) {
	t.Helper()
	p.Reset(log, offset, slowlog.State{})
	var e slowlog.Entry
	for p.Next(&e) {
		a.Add(p, &e, 0)
	}
	if s := p.Skipped(); len(s) > 0 {
		t.Fatalf("skipped %v of\n%s", s, log)
	}
}

// TestParsersNumberOtherwise has logs whose own attributes get other numbers in every parser.
func TestParsersNumberOtherwise(t *testing.T) {
	one := logOf("# Apples: 3 Pears: 1\n", "# Apples: 4 Pears: 2\n", "# Bruised: Yes\n")
	two := logOf("# Pears: 4 Apples: 7\n", "# Bruised: No  Pears: 10\n", "# Pears: 0 Apples: 1\n",
		"# Apples: 5 Pears: 3\n")
	check := func(what string, a *Aggregator) {
		t.Helper()
		g := a.Report(digest.Options{}).Global
		apples, pears, bruised := g.Attributes["apples"], g.Attributes["pears"], g.Flags["bruised"]
		if apples.Sum != 20 || apples.Count != 5 || apples.Max.Or(0) != 7 || pears.Sum != 20 || pears.Count != 6 ||
			pears.Min.Or(-1) != 0 {
			t.Errorf("%s: apples %+v, pears %+v", what, apples, pears)
		}
		if bruised.Yes != 1 || bruised.No != 1 {
			t.Errorf("%s: bruised %+v", what, bruised)
		}
		if g.Attributes["query_time"].Count != 7 {
			t.Errorf("%s: %+v", what, g)
		}
	}
	together := New(Config{})
	p, q := slowlog.NewParser(), slowlog.NewParser()
	parse(t, together, p, one, 0)
	parse(t, together, q, two, int64(len(one)))
	check("one after the other", together)

	first, second := New(Config{}), New(Config{})
	parse(t, first, slowlog.NewParser(), one, 0)
	parse(t, second, slowlog.NewParser(), two, int64(len(one)))
	merged := New(Config{})
	merged.Merge(second)
	merged.Merge(first)
	check("merged", merged)
	if diff := cmp.Diff(asJSON(t, together.Report(digest.Options{})),
		asJSON(t, merged.Report(digest.Options{}))); diff != "" {
		t.Error(diff)
	}

	back, err := ReadState(Config{}, first.AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, back, slowlog.NewParser(), two, int64(len(one)))
	check("from a state", back)
}

// TestVeryManyLayouts has more different headers than are numbered.
func TestVeryManyLayouts(t *testing.T) {
	names := []slowlog.Attribute{
		slowlog.QueryTime, slowlog.LockTime, slowlog.RowsSent, slowlog.RowsExamined, slowlog.BytesSent,
		slowlog.FullScan, slowlog.TmpTable,
		slowlog.RowsAffected, slowlog.TmpTables, slowlog.MergePasses, slowlog.QueryLength,
	}
	var entries []slowlog.Entry
	for mask := range 1 << len(names) {
		e := slowlog.Entry{SQL: []byte("select " + word(mask%50)), Offset: int64(mask), Rate: 1}
		for i, x := range names {
			if mask>>i&1 == 1 {
				e.Figures = append(e.Figures, slowlog.Figure{Attribute: x, Value: float64(mask % 3)})
			}
		}
		entries = append(entries, e)
	}
	all, classes := modelOf(entries)
	parts := []*Aggregator{New(Config{}), New(Config{})}
	for i := range entries {
		parts[i%2].Add(nil, &entries[i], 0)
	}
	whole := aggregate(Config{}, entries)
	merged := New(Config{})
	merged.Merge(parts[1])
	merged.Merge(parts[0])
	back, err := ReadState(Config{}, merged.AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	for what, a := range map[string]*Aggregator{"whole": whole, "merged": merged, "read": back} {
		if len(a.headers.layouts) != maxLayouts {
			t.Errorf("%s: %d layouts", what, len(a.headers.layouts))
		}
		r := a.Report(digest.Options{})
		all.check(t, what, r.Global.Count, r.Global.Attributes, r.Global.Flags, false)
		for _, c := range r.Classes {
			classes[c.ID].check(t, what+" "+c.Fingerprint, c.Count, c.Attributes, c.Flags, false)
		}
	}
}

// TestOddFigures are those that no whole number within bounds can be.
func TestOddFigures(t *testing.T) {
	var entries []slowlog.Entry
	values := []float64{0.25, -3, 1 << 50, 7, 0, 2.5e17, 0.5, 1e280}
	for i := range 400 {
		e := timed("select 1", int64(i), float64(i%7), values[i%len(values)])
		e.Rate = uint32(1 + i%2)
		entries = append(entries, e)
	}
	entries = append(entries, timed("select 1", 1000, 18446744073709.55, math.NaN()), timed("select 1", 1001, -0.5, 1))
	all, _ := modelOf(entries[:0])
	for _, e := range entries {
		for range e.Rate {
			all.n++
			for _, f := range e.Figures[:2] {
				info, _ := slowlog.Known(f.Attribute)
				v := f.Value
				if v != v {
					v = 0
				}
				all.values[info.Key] = append(all.values[info.Key], v)
			}
			if e.Figures[2].Value != 0 {
				all.yes["full_scan"]++
			} else {
				all.no["full_scan"]++
			}
		}
	}
	whole := aggregate(Config{}, entries).Report(digest.Options{})
	// A quantile below zero is within 1 % of its size.
	check := func(r digest.Report) {
		t.Helper()
		all.check(t, "odd", r.Global.Count, r.Global.Attributes, r.Global.Flags, false)
		if c := r.Classes[0]; c.Worst == nil || c.Worst.Offset != 1000 {
			t.Errorf("the worst is %+v", c.Worst)
		}
	}
	check(whole)
	a, b := New(Config{}), New(Config{})
	for i := range entries {
		[]*Aggregator{a, b}[i/150%2].Add(nil, &entries[i], 0)
	}
	b.Merge(a)
	check(b.Report(digest.Options{}))
	back, err := ReadState(Config{}, b.AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	check(back.Report(digest.Options{}))
}

func TestAttributeTwiceInAHeader(t *testing.T) {
	e := timed("select 1", 0, 2, 3)
	e.Figures = append(e.Figures, slowlog.Figure{Attribute: slowlog.QueryTime, Value: 5})
	q := aggregate(Config{}, []slowlog.Entry{e, e}).Report(digest.Options{}).Global.Attributes["query_time"]
	if q.Count != 2 || q.Sum != 4 {
		t.Errorf("got %+v", q)
	}
}
