package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/unit"
)

//go:embed digest.css
var digestCSS string

// What a page shows at most, so that a browser can open it. The page says what it leaves out.
const (
	digestRows    = 2000 // of the profile
	digestDetails = 200  // classes with all their figures
)

// DigestMarkdown writes a digest in GitHub's flavour of Markdown, to paste into a ticket: the profile as a table, then
// every class with its figures and samples. Texts are escaped as those of Markdown are.
func DigestMarkdown(w io.Writer, r *digest.Report, o DigestOptions) error {
	out := newDigestOut(w)
	p := &mdPage{begun: true}
	flush := func() {
		out.text(p.b.String())
		p.b.Reset()
	}
	c := digestShown(r, o)
	p.line("# Query digest")
	profile, _ := digestProfile(c, o.classes(r), asMarkdown)
	p.blocks(kept(append(digestSummary(c, o, asMarkdown), profile, digestAll(c))))
	flush()
	for _, k := range o.shown(r) {
		p.blocks(kept([]block{digestSection(c, k, "", asMarkdown)}))
		if flush(); out.err != nil { // nobody reads on
			break
		}
	}
	p.end(digestFooter(o))
	flush()
	return out.end("digest")
}

// DigestHTML writes a digest as one page that needs nothing else and asks nothing of the network: the profile with bars
// and with how the calls spread over time, then every class with its distribution, figures, samples and plan. It has no
// script. Of very many classes only the first have all of that; the page says how many are left out.
func DigestHTML(w io.Writer, r *digest.Report, o DigestOptions) error {
	c := digestShown(r, o)
	profile, n := digestProfile(c, o.classes(r), asPage)
	bs := append(digestSummary(c, o, asPage), profile, digestAll(c))
	for i, k := range o.shown(r) {
		if i == digestDetails {
			break
		}
		bs = append(bs, digestSection(c, k, "q"+strconv.Itoa(i+1), asPage))
	}
	if left := n - digestDetails; left > 0 {
		s := "The details of " + count(left, "class", "classes") + " are left out here; the JSON has them."
		bs = append(bs, para{s, true})
	}
	return digestPage("digest", "Query digest", o, bs).write(w, "digest")
}

func digestPage(kind, title string, o DigestOptions, bs []block) page {
	return page{ // the styles are ours and constant
		CSS: template.CSS(pageCSS + digestCSS), Class: "digest", Kind: kind, Title: title, At: o.At,
		Footer: digestFooter(o), Blocks: kept(bs),
	}
}

// digestShown returns a report that can be written and seen, without its classes.
func digestShown(r *digest.Report, o DigestOptions) *digest.Report {
	c := digestClean(r, o)
	names := c.Global.Attributes // made visible where they are written, as a class's are
	c = visible(c)
	c.Global.Attributes = names
	return c
}

// shown are the classes, by their place, every text of them visible.
func (o DigestOptions) shown(r *digest.Report) iter.Seq2[int, digest.Row] {
	return func(yield func(int, digest.Row) bool) {
		for i, k := range o.classes(r) {
			figures := k.Attributes // most of a class; its names are made visible where they are written
			k.Attributes = nil
			k = visible(k)
			k.Attributes = figures
			k.Item = Visible(digestItem(&k), false)
			if !yield(i, k) {
				return
			}
		}
	}
}

// digestFooter says who made the report and when.
func digestFooter(o DigestOptions) string {
	s := spaced("Dyno", Visible(o.Dyno, false))
	if !o.At.IsZero() {
		s += ", " + stamp(o.At) + " UTC"
	}
	return s
}

// digestSummary is what is known of all statements, the remarks on it and what could not be read.
func digestSummary(c *digest.Report, o DigestOptions, f form) []block {
	g := c.Global
	first := []Fact{{"Statements", digestRate(float64(g.Count))}, {"Classes", digestRate(float64(g.Classes))}}
	if s, ok := digestSum(g.Attributes).Get(); ok {
		first = append(first, Fact{"Response time", unit.Seconds(s)})
	}
	first = append(first, Fact{"Per second", told(g.QPS, none, digestRate)},
		Fact{"Concurrency", told(g.Concurrency, none, digestRate)})
	var top cards
	fs := digestFacts(c, o)
	if f == asPage {
		for _, x := range first {
			top.Cards = append(top.Cards, card{Title: x.Name, Factor: x.Value, Class: "plain"})
		}
		fs = slices.DeleteFunc(fs, func(x Fact) bool {
			return slices.ContainsFunc(first, func(y Fact) bool { return x.Name == y.Name })
		})
	}
	head, parts := digestSkipped(c)
	skipped := sec("skipped", "Not read", para{Text: head}, sentences("", "small", parts))
	skipped.Class = "skipped"
	return []block{sec("summary", "Summary", top, fs, sentences("", "small", digestNotes(c))), skipped}
}

// digestFacts are what is known of all statements, in names and values that can be seen.
func digestFacts(r *digest.Report, o DigestOptions) (fs facts) {
	g := r.Global
	for i, f := range g.Files {
		if i == digestFiles {
			fs.add("Files", "and "+strconv.Itoa(len(g.Files)-i)+" more")
			break
		}
		fs.add("File", f.Name+", "+digestCount(uint64(max(0, f.Bytes)))+" bytes, "+digestCount(f.Entries)+" statements")
	}
	fs.add("Target", g.Target)
	fs.add("Source", strings.ReplaceAll(g.Source, "_", " "))
	fs.add("Statements", digestCount(g.Count)+" in "+count(g.Classes, "class", "classes"))
	fs.add("Per second", told(g.QPS, none, digestRate))
	fs.add("Concurrency", told(g.Concurrency, none, digestRate))
	if s, ok := digestSum(g.Attributes).Get(); ok {
		fs.add("Response time", unit.Seconds(s))
	}
	if t := globalRange(g); t != "" {
		fs.add("Time range", t+" UTC")
	}
	if !o.fingerprints() {
		fs.add("Grouped by", Visible(o.GroupBy, false))
	}
	fs.add("Ordered by", Visible(o.OrderBy, false))
	return fs
}

// digestFiles is how many files a report for people names.
const digestFiles = 20

// digestProfile is the table of all classes, and how many there are.
func digestProfile(c *digest.Report, classes iter.Seq2[int, digest.Row], f form) (s section, n int) {
	t := ranked{Name: "Profile", BarAt: 2}
	t.Head = []string{"Rank", "Item", "Share", "Response time", "Calls", "R/Call", "95 %", "V/M", "Query ID"}
	t.Left, t.Tail = 3, 1
	if f == asPage {
		t.SparkAt, t.Head, t.Tail = 8, slices.Insert(t.Head, 8, "Over time"), 2
	}
	add := func(row []string, calls digest.Minutes, x extra) {
		if x.ID = row[8]; f == asPage {
			row[8] = class.ShortID(row[8])
			note := ""
			if m := squeezed(calls, sparkWidth); len(m.Counts) > 1 {
				x.Spark, note = sparkPath(m.Counts, 60, 16), sparkNote(m)
			}
			row = slices.Insert(row, 8, note)
		}
		t.Rows, t.Extra = append(t.Rows, row), append(t.Extra, x)
	}
	var shares []float64
	top := 0.0
	for i, k := range classes {
		if n++; f == asPage && i >= digestRows {
			continue
		}
		var x extra
		if i < digestDetails {
			x.Link = "q" + strconv.Itoa(i+1)
		}
		shares, top = append(shares, k.Share), max(top, k.Share)
		add(profileRow(&k), k.PerMinute, x)
	}
	for i, v := range shares {
		if top > 0 && v >= 0 {
			t.Extra[i].Bar = px(v / top * 100)
		}
	}
	if m := c.Other; m.Classes > 0 {
		more := count(m.Classes, "class", "classes") + " more"
		row := []string{"", more, none, none, digestCount(m.Count), none, none, none, ""}
		if digestSum(c.Global.Attributes).OK() {
			row[2], row[3] = digestShare(m.Share)+" %", unit.Seconds(m.QuerySec)
			if m.Count > 0 {
				row[5] = unit.Seconds(m.QuerySec / float64(m.Count))
			}
		}
		add(row, digest.Minutes{}, extra{})
	}
	s = sec("profile", "Profile", t)
	if len(t.Rows) == 0 {
		s.Body = []block{para{Text: "No statements."}}
	}
	if left := n - digestRows; left > 0 && f == asPage {
		note := count(left, "class is", "classes are") + " left out here; the JSON has all."
		s.Body = append(s.Body, para{note, true})
	}
	return s, n
}

// profileRow is a class in it.
func profileRow(k *digest.Row) []string {
	row := []string{
		strconv.Itoa(k.Rank), Visible(digestItem(k), false), none, none, digestCount(k.Count), none, none,
		told(k.VarianceToMean, none, twoDigits), Visible(k.ID, false),
	}
	if f, ok := k.Attributes["query_time"]; ok && f.Count > 0 {
		row[2], row[3] = digestShare(k.Share)+" %", unit.Seconds(f.Sum)
		row[5], row[6] = value(f.Mean(), "s"), value(f.P95, "s")
	}
	return row
}

// sparkPath draws counts as columns from the left to the right of a box.
func sparkPath(counts []uint64, width, height float64) string {
	top := max(1, most(counts))
	var b strings.Builder
	b.WriteString("M0 " + px(height))
	for i, c := range counts {
		b.WriteString("V" + px(height*(1-float64(c)/float64(top))) + "H" + px(width*float64(i+1)/float64(len(counts))))
	}
	b.WriteString("V" + px(height) + "Z")
	return b.String()
}

func sampleSQL(s *digest.Sample, d digest.Dialect) string {
	return digestShort(d, s.SQL) + map[bool]string{true: " …"}[s.Cut]
}

func digestAll(c *digest.Report) section {
	return sec("all", "All statements", digestFigures(c.Global.Attributes, nil), para{flagsText(c.Global.Flags), true})
}

// digestSection is everything about a class.
func digestSection(c *digest.Report, k digest.Row, anchor string, f form) section {
	s := section{Anchor: anchor, Over: "Rank " + strconv.Itoa(k.Rank), Title: k.Item, Body: []block{
		para{"ID " + k.ID + "; " + classMetaText(&k), true}, code{"", "sql", k.Fingerprint},
	}}
	if f == asPage {
		if digestSum(k.Attributes).OK() {
			s.Over += ", " + digestShare(k.Share) + " % of the response time"
		}
		s.Body = append(s.Body, digestPictures(&k, anchor))
	} else {
		s.Body = append(s.Body, code{"", "text", distributionText(&k)})
	}
	s.Body = append(s.Body, digestFigures(k.Attributes, c.Global.Attributes), para{flagsText(k.Flags), true},
		classFacts(&k))
	sample := func(name string, x *digest.Sample) {
		title := name + ": " + sampleNote(x, len(c.Global.Files) > 1)
		s.Body = append(s.Body, fold{title, []block{code{"", "sql", sampleSQL(x, c.Dialect)}}})
	}
	if k.Worst != nil && k.Worst.SQL != "" {
		sample("Worst", k.Worst)
	}
	if t := k.Typical; t != nil && t.SQL != "" && (k.Worst == nil || t.SQL != k.Worst.SQL) {
		sample("Typical", t)
	}
	s.Body = append(s.Body, fold{"Plan of the worst", []block{code{"", "text", strings.Join(k.Plan, "\n")}}})
	return s
}

// digestName is the whole name of an attribute, where the layout of the text has no room for it.
func digestName(i attribute.Info) string { return cmp.Or(i.Title, i.Label) }

// plain writes a value of the line with three digits, in units that are written out.
func (l digestLine) plain(v float64) string {
	switch l.Unit {
	case attribute.Seconds:
		return unit.Seconds(v)
	case attribute.Bytes:
		return unit.Bytes(v)
	default:
		return unit.Count(v)
	}
}

// digestFigures is the table of attributes; with all statements' given it has a column for the share of them.
func digestFigures(m, all map[string]digest.Figures) table {
	t := table{Head: []string{"Attribute"}, Left: 1}
	if all != nil {
		t.Head = append(t.Head, "pct")
	}
	t.Head = append(t.Head, digestHeads[:]...)
	for _, l := range digestLines(m) {
		row := []string{Visible(digestName(l.Info), false)}
		if all != nil {
			row = append(row, digestPercent(l.f.Sum, all[l.Key].Sum))
		}
		t.Rows = append(t.Rows, append(row, l.cells(none, l.plain)...))
	}
	return t
}

func flagsText(m map[string]digest.Share) string {
	return strings.Join(each(digestFlags(m), func(f digestFlag) string {
		return digestName(f.Info) + " " + digestPercent(float64(f.s.Yes), float64(f.s.Yes+f.s.No)) + " %"
	}), ", ")
}

// talliesShown is how many names a list of a page or a ticket has.
const talliesShown = 10

// talliesText lists names with their counts.
func talliesText(ts []digest.Tally, of uint64) string {
	var parts []string
	for i, t := range ts {
		if i == talliesShown {
			return strings.Join(parts, ", ") + ", and " + strconv.Itoa(len(ts)-i) + " more"
		}
		name := cmp.Or(t.Name, "(none)")
		if len(ts) > 1 || t.Count < of {
			name += ": " + digestCount(t.Count) + " (" + digestPercent(float64(t.Count), float64(of)) + " %)"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ", ")
}

// classFacts are the lists of names of a class and what else is no figure.
func classFacts(k *digest.Row) (fs facts) {
	fs.add("Databases", talliesText(k.Databases, k.Count))
	fs.add("Hosts", talliesText(k.Hosts, k.Count))
	fs.add("Users", talliesText(k.Users, k.Count))
	fs.add("Errors by number", talliesText(k.ErrorCodes, k.Count))
	if k.Killed > 0 {
		fs.add("Killed", digestCount(k.Killed))
	}
	if k.Running > 0 {
		fs.add("Running", digestCount(k.Running)+" at the end of the window, not counted")
	}
	fs.add("Tables", strings.Join(k.Tables, ", "))
	if k.Sampled {
		fs.add("Sampled", "figures are estimated from samples")
	}
	if k.Truncated {
		fs.add("Truncated", "the source cut the text: fingerprint and ID are of what is left")
	}
	return fs
}

// classMetaText is the line below the heading of a class.
func classMetaText(k *digest.Row) string {
	return joined(", ", digestCount(k.Count)+" calls",
		told(k.QPS, "", func(x float64) string { return digestRate(x) + " per second" }),
		told(k.Concurrency, "", func(x float64) string { return "concurrency " + digestRate(x) }),
		told(k.VarianceToMean, "", func(x float64) string { return "V/M " + twoDigits(x) }),
		digestRange(k.FirstSeen, k.LastSeen))
}

// distributionText draws the histogram of a class and its calls over time, as far as the source keeps them.
func distributionText(k *digest.Row) string {
	ls := distribution(k, 40, true)
	if len(k.PerMinute.Counts) > 1 {
		m := squeezed(k.PerMinute, sparkWidth)
		ls = append(ls, "", "over time |"+digestSpark(m.Counts)+"|", sparkNote(m))
	}
	return strings.TrimPrefix(strings.Join(ls, "\n"), "\n")
}
