package report

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/slowlog"
	"github.com/dyno-perf/dyno/internal/unit"
)

// DigestMarkdown writes a digest in GitHub's flavour of Markdown, to paste into a ticket: the profile as a table, then every class with its
// figures and samples. Texts are escaped as those of Markdown are.
func DigestMarkdown(w io.Writer, r *digest.Report, o DigestOptions) error {
	out := newDigestOut(w)
	c := digestClean(r, o)
	p := &mdPage{}
	flush := func() {
		out.text(p.b.String())
		p.b.Reset()
	}
	p.line("# Query digest")
	p.line("")
	p.facts(digestFacts(c, o))
	p.digestNotes(c)
	p.section(2, "Profile")
	t := table{Head: profileHeads, Left: 2, Tail: 1}
	for _, k := range o.classes(r) {
		t.Rows = append(t.Rows, profileRow(&k))
	}
	if row := profileRest(c); row != nil {
		t.Rows = append(t.Rows, row)
	}
	p.digestTable(t)
	p.section(2, "All statements")
	p.digestTable(digestFigures(c.Global.Attributes, nil))
	p.digestFlags(c.Global.Flags)
	flush()
	for _, k := range o.classes(r) {
		p.digestClass(c, k)
		if flush(); out.err != nil { // nobody reads on
			break
		}
	}
	p.line("")
	p.line("---")
	p.line("")
	p.line(md(digestFooter(o)))
	flush()
	return out.end("digest")
}

// digestFooter says who made the report and when.
func digestFooter(o DigestOptions) string {
	s := spaced("Dyno", Visible(o.Dyno, false))
	if !o.At.IsZero() {
		s += ", " + stamp(o.At) + " UTC"
	}
	return s
}

// digestFacts are what is known of all statements, in names and values that can be seen.
func digestFacts(r *digest.Report, o DigestOptions) (fs []Fact) {
	g := r.Global
	add := func(name, value string) {
		if value != "" {
			fs = append(fs, Fact{name, Visible(value, false)})
		}
	}
	for i, f := range g.Files {
		if i == digestFiles {
			add("Files", "and "+strconv.Itoa(len(g.Files)-i)+" more")
			break
		}
		add("File", f.Name+", "+digestCount(uint64(max(0, f.Bytes)))+" bytes, "+digestCount(f.Entries)+" statements")
	}
	add("Target", g.Target)
	add("Source", strings.ReplaceAll(g.Source, "_", " "))
	add("Statements", digestCount(g.Count)+" in "+count(g.Classes, "class", "classes"))
	add("Per second", plainRate(g.QPS))
	add("Concurrency", plainRate(g.Concurrency))
	if s, ok := digestSum(g.Attributes).Get(); ok {
		add("Response time", unit.Seconds(s))
	}
	from, to := g.First, g.Last
	if !g.Began.IsZero() {
		from, to = g.Began, g.Ended
	}
	if t := digestRange(from, to); t != "" {
		add("Time range", t+" UTC")
	}
	if !o.fingerprints() {
		add("Grouped by", o.GroupBy)
	}
	add("Ordered by", o.OrderBy)
	return fs
}

// digestFiles is how many files a report for people names.
const digestFiles = 20

func plainRate(v known.Value[float64]) string {
	if x, ok := v.Get(); ok {
		return digestRate(x)
	}
	return none
}

func (p *mdPage) digestNotes(r *digest.Report) {
	notes := digestNotes(r)
	head, parts := digestSkipped(r)
	if head != "" {
		notes = append(notes, head)
	}
	if len(notes) == 0 {
		return
	}
	p.line("")
	for _, n := range notes {
		p.line("- " + mdStart(Visible(n, false)))
	}
	for _, s := range parts {
		p.line("  - " + mdStart(Visible(s, false)))
	}
}

// profileHeads are those of the table of all classes; its last column is a text.
var profileHeads = []string{"Rank", "Query ID", "Share", "Response time", "Calls", "R/Call", "95 %", "V/M", "Item"}

// profileRow is a class in it.
func profileRow(k *digest.Row) []string {
	row := []string{strconv.Itoa(k.Rank), Visible(k.ID, false), none, none, digestCount(k.Count), none, none, none, Visible(digestItem(k), false)}
	if f, ok := k.Attributes["query_time"]; ok && f.Count > 0 {
		row[2], row[3] = digestShare(k.Share)+" %", unit.Seconds(f.Sum)
		if v, ok := f.Mean().Get(); ok {
			row[5] = unit.Seconds(v)
		}
		if v, ok := f.P95.Get(); ok {
			row[6] = unit.Seconds(v)
		}
	}
	if v, ok := k.VarianceToMean.Get(); ok {
		row[7] = strconv.FormatFloat(v, 'f', 2, 64)
	}
	return row
}

// profileRest is the row of the classes that are not shown; nil when all are.
func profileRest(r *digest.Report) []string {
	m := r.Other
	if m.Classes == 0 {
		return nil
	}
	row := []string{"", "", none, none, digestCount(m.Count), none, none, none, count(m.Classes, "class", "classes") + " more"}
	if digestSum(r.Global.Attributes).OK() {
		row[2], row[3] = digestShare(m.Share)+" %", unit.Seconds(m.QuerySec)
		if m.Count > 0 {
			row[5] = unit.Seconds(m.QuerySec / float64(m.Count))
		}
	}
	return row
}

// digestName is the whole name of an attribute, where the layout of the text has no room for it.
func digestName(key, label string) string {
	switch key {
	case "query_time", "query_length":
		return label
	}
	for a := slowlog.Attribute(0); ; a++ {
		i, ok := slowlog.Known(a)
		if !ok {
			return label
		}
		if i.Key == key {
			return strings.ReplaceAll(i.Name, "_", " ")
		}
	}
}

// plain writes a value of the line with three digits, in units that are written out.
func (l digestLine) plain(v float64) string {
	switch l.unit {
	case slowlog.Seconds:
		return unit.Seconds(v)
	case slowlog.Bytes:
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
	plain, innodb := digestLines(m)
	for _, l := range append(plain, innodb...) {
		row := []string{Visible(digestName(l.key, l.label), false)}
		if all != nil {
			row = append(row, digestPercent(l.f.Sum, all[l.key].Sum))
		}
		f := l.f
		for _, v := range [...]known.Value[float64]{known.Of(f.Sum), f.Min, f.Max, f.Mean(), f.P95, f.Stddev, f.Median} {
			c := none
			if x, ok := v.Get(); ok {
				c = l.plain(x)
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (p *mdPage) digestTable(t table) {
	if len(t.Rows) == 0 {
		p.line("None.")
		return
	}
	p.table(t)
}

// flagText tells how often a flag was set.
func flagText(f digestFlag) string {
	n := float64(f.s.Yes + f.s.No)
	return Visible(digestName(f.key, f.label), false) + " " + digestPercent(float64(f.s.Yes), n) + " %"
}

func (p *mdPage) digestFlags(m map[string]digest.Share) {
	fs := digestFlags(m)
	if len(fs) == 0 {
		return
	}
	var parts []string
	for _, f := range fs {
		parts = append(parts, flagText(f))
	}
	p.line("")
	p.line(mdStart(strings.Join(parts, ", ")))
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
func classFacts(k *digest.Row) (fs []Fact) {
	add := func(name, value string) {
		if value != "" {
			fs = append(fs, Fact{name, Visible(value, false)})
		}
	}
	list := func(name string, ts []digest.Tally) {
		if len(ts) > 0 {
			add(name, talliesText(ts, k.Count))
		}
	}
	list("Databases", k.Databases)
	list("Hosts", k.Hosts)
	list("Users", k.Users)
	list("Errors by number", k.ErrorCodes)
	if k.Killed > 0 {
		add("Killed", digestCount(k.Killed))
	}
	if k.Running > 0 {
		add("Running", digestCount(k.Running)+" at the end of the window, not counted")
	}
	add("Tables", strings.Join(k.Tables, ", "))
	if k.Sampled {
		add("Sampled", "figures are estimated from samples")
	}
	if k.Truncated {
		add("Truncated", "the source cut the text: fingerprint and ID are of what is left")
	}
	return fs
}

// classMetaText is the line below the heading of a class.
func classMetaText(k *digest.Row) string {
	parts := []string{digestCount(k.Count) + " calls"}
	if x, ok := k.QPS.Get(); ok {
		parts = append(parts, digestRate(x)+" per second")
	}
	if x, ok := k.Concurrency.Get(); ok {
		parts = append(parts, "concurrency "+digestRate(x))
	}
	if x, ok := k.VarianceToMean.Get(); ok {
		parts = append(parts, "V/M "+strconv.FormatFloat(x, 'f', 2, 64))
	}
	if t := digestRange(k.FirstSeen, k.LastSeen); t != "" {
		parts = append(parts, t)
	}
	return strings.Join(parts, ", ")
}

// classSamples are the statements to show of a class: name, where it came from, text.
func classSamples(k *digest.Row, files bool) (out [][3]string) {
	add := func(name string, s *digest.Sample) {
		sql := shortSQL(s.SQL)
		if s.Cut {
			sql += " …"
		}
		out = append(out, [3]string{name, Visible(sampleNote(s, files), false), Visible(sql, true)})
	}
	if k.Worst != nil && k.Worst.SQL != "" {
		add("Worst", k.Worst)
	}
	if t := k.Typical; t != nil && t.SQL != "" && (k.Worst == nil || t.SQL != k.Worst.SQL) {
		add("Typical", t)
	}
	return out
}

// distributionText draws the histogram of a class; "" when the source keeps none.
func distributionText(k *digest.Row) string {
	var top uint64
	for _, n := range k.Histogram {
		top = max(top, n)
	}
	if top == 0 {
		return ""
	}
	var b strings.Builder
	for i, n := range k.Histogram {
		bar := ""
		if n > 0 {
			bar = "  " + strings.Repeat("#", max(1, int(float64(n)/float64(top)*40))) + " " + digestCount(n)
		}
		b.WriteString(padLeft(digestDecades[i], 5) + bar + "\n")
	}
	return b.String()
}

func (p *mdPage) digestClass(r *digest.Report, k digest.Row) {
	p.section(2, strconv.Itoa(k.Rank)+". "+Visible(digestItem(&k), false))
	p.line("ID " + code(Visible(k.ID, false)) + "; " + md(classMetaText(&k)))
	p.line("")
	p.fence("sql", Visible(k.Fingerprint, true))
	p.line("")
	p.digestTable(digestFigures(k.Attributes, r.Global.Attributes))
	p.digestFlags(k.Flags)
	if fs := classFacts(&k); len(fs) > 0 {
		p.line("")
		p.facts(fs)
	}
	d := distributionText(&k)
	if len(k.PerMinute.Counts) > 1 {
		m := squeezed(k.PerMinute, sparkWidth)
		d += "\nover time |" + digestSpark(m.Counts) + "|\n" + sparkNote(m) + "\n"
	}
	if d != "" {
		p.line("")
		p.fence("text", strings.TrimPrefix(d, "\n"))
	}
	for _, s := range classSamples(&k, len(r.Global.Files) > 1) {
		p.line("")
		p.line(s[0] + ": " + md(s[1]))
		p.line("")
		p.fence("sql", s[2])
	}
	if len(k.Plan) > 0 {
		p.line("")
		p.line("Plan of the worst:")
		p.line("")
		p.fence("text", Visible(strings.Join(k.Plan, "\n"), true))
	}
}
