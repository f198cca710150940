package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
)

// What reports for people show of a comparison at most; the JSON has all of it.
const (
	comparedRows    = 100 // classes in the table; those that are the same only when there is room
	comparedDetails = 10  // classes that are slower or new, with their statements
)

// comparedView is what the renderers draw: every text of it can be seen, every number is one.
type comparedView struct {
	c       *digest.Comparison
	Totals  []comparedTotal
	Sides   table
	Rows    []comparedRow
	Omitted string
	Details []comparedDetail
}

type comparedTotal struct {
	sign
	N int
}

type comparedRow struct {
	sign
	ID, Short, Item, MeanA, MeanB, Ratio, Bounds, P95, Calls, Impact, Reason string
	Bar                                                                      string // of the impact, of 100
}

type comparedDetail struct {
	comparedRow
	Fingerprint string
	Averages    table
	Sample      string // where it came from
	SQL         string
}

// changeSign is the mark of a change: one character that needs no colour, a word, and a class of the page.
func changeSign(c digest.ClassVerdict) sign {
	switch c {
	case digest.Slower:
		return sign{"▼", "slower", "c-worse"}
	case digest.Faster:
		return sign{"▲", "faster", "c-better"}
	case digest.Appeared:
		return sign{"+", "appeared", "c-unstable"}
	case digest.Vanished:
		return sign{"-", "vanished", "c-same"}
	case digest.Unchanged:
		return sign{"=", "same", "c-same"}
	default:
		return sign{"~", "unclear", "c-unstable"}
	}
}

func newComparedView(c *digest.Comparison) *comparedView {
	cut := *c
	cut.Classes = c.Classes[:min(len(c.Classes), comparedRows)]
	cut = *comparisonClean(&cut)
	v := &comparedView{c: see(reflect.ValueOf(&cut), false).Interface().(*digest.Comparison)}
	for _, k := range []digest.ClassVerdict{digest.Slower, digest.Appeared, digest.Faster, digest.Vanished, digest.Unclear, digest.Unchanged} {
		if n := c.Totals[k]; n > 0 {
			v.Totals = append(v.Totals, comparedTotal{changeSign(k), n})
		}
	}
	v.Sides = comparedSides(v.c)
	top := 0.0
	for i := range v.c.Classes {
		top = max(top, math.Abs(v.c.Classes[i].Impact))
	}
	for i := range v.c.Classes {
		k := &v.c.Classes[i]
		row := newComparedRow(k, top)
		v.Rows = append(v.Rows, row)
		if len(v.Details) < comparedDetails && (k.Change == digest.Slower || k.Change == digest.Appeared) {
			v.Details = append(v.Details, newComparedDetail(k, row))
		}
	}
	if n := len(c.Classes) - len(v.Rows); n > 0 {
		v.Omitted = count(n, "class", "classes") + " more are left out here; the JSON has all."
	}
	return v
}

// head is what came out in a few words.
func (v *comparedView) head() (symbolText, result string) {
	return symbol(v.c.Result), cmp.Or(string(v.c.Result), "unknown")
}

func (v *comparedView) totals() string {
	var parts []string
	for _, t := range v.Totals {
		parts = append(parts, t.Sign+" "+strconv.Itoa(t.N)+" "+t.Word)
	}
	return strings.Join(parts, " · ")
}

// terms says by what it was judged.
func (v *comparedView) terms() string {
	return "B against A by the mean query time; ratios within ±" + unit.Percent(v.c.Margin) + " count as the same; all verdicts together hold with " +
		unit.Percent(v.c.Confidence) + "; " + count(v.c.Judged, "class was", "classes were") + " judged"
}

func comparedSides(c *digest.Comparison) table {
	t := table{Head: []string{"", "A", "B"}, Left: 3}
	add := func(name string, f func(digest.Side) string) {
		a, b := f(c.A), f(c.B)
		if a != "" || b != "" {
			t.Rows = append(t.Rows, []string{name, cmp.Or(a, none), cmp.Or(b, none)})
		}
	}
	add("of", func(s digest.Side) string { return s.Name })
	add("time range", func(s digest.Side) string { return digestRange(s.First, s.Last) })
	add("statements", func(s digest.Side) string { return digestCount(s.Count) })
	add("classes", func(s digest.Side) string { return strconv.Itoa(s.Classes) })
	add("response time", func(s digest.Side) string { return unit.Seconds(s.QuerySec) })
	add("concurrency", func(s digest.Side) string {
		if x, ok := s.Concurrency.Get(); ok {
			return digestRate(x)
		}
		return ""
	})
	add("parts not read", func(s digest.Side) string {
		if s.Skipped == 0 {
			return ""
		}
		return digestCount(s.Skipped)
	})
	return t
}

func newComparedRow(k *digest.ClassCompared, top float64) comparedRow {
	seconds := func(f *digest.SideFigures) string {
		if f == nil {
			return none
		}
		if x, ok := f.Mean.Get(); ok {
			return unit.Seconds(x)
		}
		return none
	}
	times := func(v known.Value[float64]) string {
		if x, ok := v.Get(); ok {
			return unit.Ratio(x)
		}
		return none
	}
	r := comparedRow{
		sign: changeSign(k.Change), ID: k.ID, Short: sqltext.ShortID(k.ID), Item: k.Item, MeanA: seconds(k.A), MeanB: seconds(k.B), Ratio: none, Bounds: none,
		P95: times(k.P95), Calls: times(k.Calls), Impact: unit.Seconds(k.Impact), Reason: k.Reason,
	}
	if r.Item == "" {
		r.Item = clip(k.Fingerprint, 60)
	}
	if i, ok := k.Mean.Get(); ok {
		var bounds string
		if r.Ratio, bounds = ratioText(i); bounds != "" {
			r.Bounds = bounds
		}
	}
	if k.Impact > 0 {
		r.Impact = "+" + r.Impact
	}
	if top > 0 {
		r.Bar = px(math.Abs(k.Impact) / top * 100)
	}
	return r
}

func newComparedDetail(k *digest.ClassCompared, row comparedRow) comparedDetail {
	d := comparedDetail{comparedRow: row, Fingerprint: k.Fingerprint, Averages: table{Head: []string{"average", "A", "B"}, Left: 1}}
	for _, key := range slices.Sorted(maps.Keys(k.Attributes)) {
		label, u := digestLabel(key)
		l := digestLine{key: key, label: label, unit: u}
		x := k.Attributes[key]
		d.Averages.Rows = append(d.Averages.Rows, []string{digestName(key, label), l.plain(x.A), l.plain(x.B)})
	}
	if k.Worst != nil && k.Worst.SQL != "" {
		d.Sample, d.SQL = sampleNote(k.Worst, true), shortSQL(k.Worst.SQL)
		if k.Worst.Cut {
			d.SQL += " …"
		}
	}
	return d
}

// table is the one of all classes.
func (v *comparedView) table() table {
	t := table{Head: []string{"Change", "Item", "Mean A", "Mean B", "B ÷ A", "Interval", "95 %", "Calls", "Impact", "Query ID"}, Left: 2, Tail: 1}
	for _, r := range v.Rows {
		t.Rows = append(t.Rows, []string{r.Sign + " " + r.Word, r.Item, r.MeanA, r.MeanB, r.Ratio, r.Bounds, r.P95, r.Calls, r.Impact, r.ID})
	}
	return t
}

// impactNote explains a column.
const impactNote = "Impact: seconds of query time that the change makes over B's calls. 95 % and calls are shown, not judged."

// comparisonClean returns a copy in which every number is finite; what is not becomes unknown or is clamped.
func comparisonClean(c *digest.Comparison) *digest.Comparison {
	x := *c
	for _, s := range []*digest.Side{&x.A, &x.B} {
		s.QuerySec, s.Seconds, s.Concurrency = finiteNumber(s.QuerySec), finiteValue(s.Seconds), finiteValue(s.Concurrency)
	}
	x.Margin, x.Confidence = max(0, min(1e9, finiteNumber(x.Margin))), max(0, min(1, finiteNumber(x.Confidence)))
	x.Classes = make([]digest.ClassCompared, len(c.Classes))
	for i, k := range c.Classes {
		x.Classes[i] = comparisonCleanClass(k)
	}
	if x.Totals == nil {
		x.Totals = map[digest.ClassVerdict]int{}
	}
	return &x
}

func comparisonCleanClass(k digest.ClassCompared) digest.ClassCompared {
	for _, s := range []**digest.SideFigures{&k.A, &k.B} {
		if *s == nil {
			continue
		}
		f := **s
		f.QuerySec, f.Share = finiteNumber(f.QuerySec), finiteNumber(f.Share)
		for _, v := range []*known.Value[float64]{&f.PerSec, &f.Mean, &f.P95, &f.Median, &f.Max} {
			*v = finiteValue(*v)
		}
		*s = &f
	}
	if i, ok := k.Mean.Get(); ok {
		if s := i.Center + i.Lo + i.Hi + i.Confidence; math.IsNaN(s) || math.IsInf(s, 0) {
			k.Mean = known.None[stat.Interval]()
		}
	}
	for _, v := range []*known.Value[float64]{&k.Adjusted, &k.P95, &k.Median, &k.Calls} {
		*v = finiteValue(*v)
	}
	k.Impact = finiteNumber(k.Impact)
	for key, a := range k.Attributes {
		if b := (digest.Averages{A: finiteNumber(a.A), B: finiteNumber(a.B)}); b != a {
			k.Attributes = maps.Clone(k.Attributes)
			k.Attributes[key] = b
		}
	}
	if k.Worst != nil && finiteNumber(k.Worst.QuerySec) != k.Worst.QuerySec {
		w := *k.Worst
		w.QuerySec = finiteNumber(w.QuerySec)
		k.Worst = &w
	}
	return k
}

// DigestComparisonText writes a comparison of two digests for a terminal.
func DigestComparisonText(w io.Writer, c *digest.Comparison, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	v := newComparedView(c)
	p := &textPage{width: max(o.Width, leastWidth), color: o.Color}
	sym, result := v.head()
	p.line("")
	p.line("  " + p.paint(resultStyle(c.Result), sym+" "+strings.ToUpper(result)) + "   " + v.totals())
	for _, r := range v.c.Reasons {
		p.para("  ! ", r)
	}
	p.line("")
	p.table("  ", v.Sides)
	if len(v.Rows) > 0 {
		p.section("Classes")
		t := v.table()
		for _, r := range t.Rows {
			r[len(r)-1] = sqltext.ShortID(r[len(r)-1])
		}
		if p.width < 110 { // without the 95 % and the calls, which are not judged, ids keep their line
			t.Head = slices.Delete(slices.Clone(t.Head), 6, 8)
			for i, r := range t.Rows {
				t.Rows[i] = slices.Delete(r, 6, 8)
			}
		}
		p.table("  ", t)
		if v.Omitted != "" {
			p.para("  ", v.Omitted)
		}
		p.line("")
		p.para("  ", v.terms()+". "+impactNote)
		for _, r := range v.unclear() {
			p.para("  "+r[0]+"  ", r[1])
		}
	}
	for _, d := range v.Details {
		p.section(d.Sign + " " + d.Word + ": " + d.Item)
		p.line("  " + d.ID)
		p.code("  ", d.Fingerprint)
		if len(d.Averages.Rows) > 0 {
			p.line("")
			p.table("  ", d.Averages)
		}
		if d.SQL != "" {
			p.line("")
			p.para("  ", "Sample: "+d.Sample)
			p.code("    ", clip(d.SQL, extraWidth))
		}
	}
	if len(v.c.Notes) > 0 {
		p.section("Notes")
		for _, n := range v.c.Notes {
			p.para("  - ", n)
		}
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// unclearReasons is how many classes that could not be judged are explained.
const unclearReasons = 10

// unclear are the reasons of classes that could not be judged, by id; those that share one share its line.
func (v *comparedView) unclear() (out [][2]string) {
	n := map[string]int{}
	var order []string
	for _, r := range v.Rows {
		if r.Reason != "" {
			if n[r.Reason] == 0 {
				order = append(order, r.Reason)
			}
			n[r.Reason]++
		}
	}
	for i, reason := range order {
		if i == unclearReasons {
			break
		}
		out = append(out, [2]string{count(n[reason], "class", "classes") + ":", reason})
	}
	return out
}

// DigestComparisonMarkdown writes a comparison of two digests in GitHub's flavour of Markdown.
func DigestComparisonMarkdown(w io.Writer, c *digest.Comparison) error {
	v := newComparedView(c)
	p := &mdPage{}
	sym, result := v.head()
	p.line("# Query digests compared")
	p.line("")
	p.line("**" + sym + " " + md(strings.ToUpper(result)) + "** " + md(v.totals()))
	if len(v.c.Reasons) > 0 {
		p.line("")
		p.list(v.c.Reasons)
	}
	p.line("")
	p.table(v.Sides)
	p.section(2, "Classes")
	p.digestTable(v.table())
	p.line("")
	p.line(mdStart(spaced(v.Omitted, v.terms()+". "+impactNote)))
	if rs := v.unclear(); len(rs) > 0 {
		p.line("")
		for _, r := range rs {
			p.line("- " + mdStart(r[0]+" "+r[1]))
		}
	}
	for _, d := range v.Details {
		p.section(2, d.Sign+" "+d.Word+": "+d.Item)
		p.line("ID " + code(d.ID))
		p.line("")
		p.fence("sql", d.Fingerprint)
		if len(d.Averages.Rows) > 0 {
			p.line("")
			p.table(d.Averages)
		}
		if d.SQL != "" {
			p.line("")
			p.line("Sample: " + md(d.Sample))
			p.line("")
			p.fence("sql", d.SQL)
		}
	}
	if len(v.c.Notes) > 0 {
		p.section(2, "Notes")
		p.list(v.c.Notes)
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// DigestComparisonJSON writes a comparison of two digests as one JSON object, one class a line; see DigestJSON.
func DigestComparisonJSON(w io.Writer, c *digest.Comparison) error {
	head := *c
	head.Classes = nil
	whole, err := json.Marshal(comparisonHead(&head))
	if err != nil {
		return fmt.Errorf("encode comparison: %w", err)
	}
	begin, end, ok := bytes.Cut(whole, []byte(`"classes":null`))
	if !ok {
		return fmt.Errorf("BUG: encode comparison: no list of classes in %.60s", whole)
	}
	out := newDigestOut(w)
	err = writeLines(out, begin, end, func(yield func(int, digest.ClassCompared) bool) {
		for i, k := range c.Classes {
			if !yield(i, comparisonCleanClass(k)) {
				return
			}
		}
	}, func(k digest.ClassCompared) ([]byte, error) { return json.Marshal(k) })
	if err != nil {
		return err
	}
	return out.end("comparison")
}

// comparisonHead is comparisonClean without classes.
func comparisonHead(c *digest.Comparison) *digest.Comparison {
	x := comparisonClean(c)
	x.Classes = nil
	return x
}
