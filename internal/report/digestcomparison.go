package report

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
)

// What reports for people show of a comparison at most; the JSON has all of it.
const (
	comparedRows    = 100 // classes in the table; those that are the same only when there is room
	comparedDetails = 10  // classes that are slower or new, with their statements
	unclearReasons  = 10  // why classes could not be judged
)

// changeSign is the mark of a change: one character that needs no colour, a word, and a class of the page.
func changeSign(c digest.ClassVerdict) sign {
	return cmp.Or(map[digest.ClassVerdict]sign{
		digest.Slower:    {"▼", "slower", "c-worse"},
		digest.Faster:    {"▲", "faster", "c-better"},
		digest.Appeared:  {"+", "appeared", "c-unstable"},
		digest.Vanished:  {"-", "vanished", "c-same"},
		digest.Unchanged: {"=", "same", "c-same"},
	}[c], sign{"~", "unclear", "c-unstable"})
}

// comparedBlocks are a comparison of two digests; a narrow text leaves out what is not judged.
func comparedBlocks(c *digest.Comparison, f form, narrow bool) []block {
	cut := *c
	cut.Classes = c.Classes[:min(len(c.Classes), comparedRows)]
	cut = comparisonClean(cut)
	v := visible(&cut)
	result := stat.Result(cmp.Or(string(v.Result), "unknown"))
	outcome := hero{Headline: &headline{Result: result}, Reasons: v.Reasons}
	for _, k := range []digest.ClassVerdict{
		digest.Slower, digest.Appeared, digest.Faster, digest.Vanished,
		digest.Unclear, digest.Unchanged,
	} {
		if n := c.Totals[k]; n > 0 {
			m := changeSign(k)
			outcome.Tally = append(outcome.Tally, LaidTally{m.Sign, m.Word, n, m.Class})
		}
	}
	t := ranked{Name: "Classes", BarAt: 8}
	t.Head = []string{"Change", "Item", "Mean A", "Mean B", "B ÷ A", "Interval", "95 %", "Calls", "Impact", "Query ID"}
	t.Left, t.Tail = 2, 1
	top := 0.0
	for i := range v.Classes {
		top = max(top, math.Abs(v.Classes[i].Impact))
	}
	var details []block
	unclear := bullets{Class: "small"}
	why := map[string]int{}
	for i := range v.Classes {
		k := &v.Classes[i]
		k.Item = Visible(cmp.Or(k.Item, clip(k.Fingerprint, 60)), false)
		x := extra{Class: changeSign(k.Change).Class, ID: k.ID}
		if top > 0 {
			x.Bar = px(math.Abs(k.Impact) / top * 100)
		}
		row := comparedRow(k)
		if f != asMarkdown {
			row[9] = class.ShortID(k.ID)
		}
		t.Rows, t.Extra = append(t.Rows, row), append(t.Extra, x)
		if why[k.Reason]++; k.Reason != "" && why[k.Reason] == 1 && len(unclear.Items) < unclearReasons {
			unclear.Items = append(unclear.Items, item{Text: k.Reason})
		}
		if len(details) < comparedDetails && (k.Change == digest.Slower || k.Change == digest.Appeared) {
			details = append(details, comparedDetail(k, c.Dialect, f))
		}
	}
	for i, x := range unclear.Items {
		unclear.Items[i].Name = count(why[x.Text], "class", "classes")
	}
	if narrow { // ids keep their line
		t.Head = slices.Delete(t.Head, 6, 8)
		for i, r := range t.Rows {
			t.Rows[i] = slices.Delete(r, 6, 8)
		}
	}
	classes := sec("classes", "Classes", t)
	if len(t.Rows) == 0 {
		classes.Body = []block{para{Text: "No classes."}}
	}
	omitted := ""
	if n := len(c.Classes) - len(v.Classes); n > 0 {
		omitted = count(n, "class", "classes") + " more are left out here; the JSON has all."
	}
	terms := "B against A by the mean query time; ratios within ±" + unit.Percent(v.Margin) + " count as the same; " +
		"all verdicts together hold with " + unit.Percent(v.Confidence) + "; " +
		count(v.Judged, "class was", "classes were") + " judged. Impact: seconds of query time that the change makes " +
		"over " +
		"B's calls. 95 % and calls are shown, not judged."
	classes.Body = append(classes.Body, para{omitted, true}, para{terms, true}, unclear)
	bs := append([]block{outcome, sec("sides", "What is compared", comparedSides(v)), classes}, details...)
	return kept(append(bs, sec("notes", "Notes", sentences("-", "", v.Notes))))
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
	add("concurrency", func(s digest.Side) string { return told(s.Concurrency, "", digestRate) })
	add("parts not read", func(s digest.Side) string {
		if s.Skipped == 0 {
			return ""
		}
		return digestCount(s.Skipped)
	})
	return t
}

// comparedRow is a class in the table of all.
func comparedRow(k *digest.ClassCompared) []string {
	seconds := func(f *digest.SideFigures) string {
		if f == nil {
			return none
		}
		return value(f.Mean, "s")
	}
	times := func(v known.Value[float64]) string { return told(v, none, unit.Ratio) }
	s := changeSign(k.Change)
	ratio, bounds, impact := none, "", unit.Seconds(k.Impact)
	if i, ok := k.Mean.Get(); ok {
		ratio, bounds = ratioText(i)
	}
	if k.Impact > 0 {
		impact = "+" + impact
	}
	return []string{
		s.Sign + " " + s.Word, k.Item, seconds(k.A), seconds(k.B), ratio, cmp.Or(bounds, none),
		times(k.P95), times(k.Calls),
		impact, k.ID,
	}
}

// comparedDetail is everything about a class that is slower or new.
func comparedDetail(k *digest.ClassCompared, d digest.Dialect, f form) section {
	averages := table{Head: []string{"average", "A", "B"}, Left: 1}
	for _, key := range slices.Sorted(maps.Keys(k.Attributes)) {
		x := k.Attributes[key]
		l := digestLine{Info: describedAs(x.Info, key)}
		averages.Rows = append(averages.Rows, []string{digestName(l.Info), l.plain(x.A), l.plain(x.B)})
	}
	s := changeSign(k.Change)
	out := section{Over: s.Sign + " " + s.Word, Title: k.Item}
	out.Body = []block{para{"ID " + k.ID, true}, code{"", "sql", k.Fingerprint}, averages}
	if w := k.Worst; w != nil && w.SQL != "" {
		if title := "Sample: " + sampleNote(w, true); f == asText {
			out.Body = append(out.Body, code{title, "sql", clip(sampleSQL(w, d), extraWidth)})
		} else {
			out.Body = append(out.Body, fold{title, []block{code{"", "sql", sampleSQL(w, d)}}})
		}
	}
	return out
}

// comparisonClean returns a copy in which every number is finite; what is not becomes unknown or is clamped.
func comparisonClean(c digest.Comparison) digest.Comparison {
	x := clamped(c)
	x.Margin, x.Confidence = max(0, min(1e9, x.Margin)), max(0, min(1, x.Confidence))
	if x.Totals == nil {
		x.Totals = map[digest.ClassVerdict]int{}
	}
	return x
}

// DigestComparisonText writes a comparison of two digests for a terminal.
func DigestComparisonText(w io.Writer, c *digest.Comparison, o Options) error {
	p := newTextPage(o)
	p.blocks(comparedBlocks(c, asText, p.width < 110))
	return written(w, p.b.String(), "comparison")
}

// DigestComparisonMarkdown writes a comparison of two digests in GitHub's flavour of Markdown.
func DigestComparisonMarkdown(w io.Writer, c *digest.Comparison) error {
	p := &mdPage{begun: true}
	p.line("# Query digests compared")
	p.blocks(comparedBlocks(c, asMarkdown, false))
	return written(w, p.b.String(), "comparison")
}

// DigestComparisonHTML writes a comparison of two digests as one page that needs nothing else and asks nothing of the
// network.
func DigestComparisonHTML(w io.Writer, c *digest.Comparison, o DigestOptions) error {
	p := digestPage("digest comparison", "Query digests compared", o, comparedBlocks(c, asPage, false))
	return p.write(w, "comparison")
}

// DigestComparisonJSON writes a comparison of two digests as one JSON object, one class a line; see DigestJSON.
func DigestComparisonJSON(w io.Writer, c *digest.Comparison) error {
	head := *c
	head.Classes = nil
	return writeClasses(w, "comparison", comparisonClean(head), func(yield func(int, digest.ClassCompared) bool) {
		for i, k := range c.Classes {
			if !yield(i, clamped(k)) {
				return
			}
		}
	})
}
