package report

import (
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

const (
	digestWidth = 74 // of a heading that is filled with underscores
	barWidth    = 64 // of the longest bar of a distribution
	listWidth   = 47 // of a list of hosts, users or databases
	nameWidth   = 10 // of one of several names
	onlyWidth   = 44 // of the only name
	sparkWidth  = 60
	extraWidth  = 1000 // characters of a text that stands in comments
)

// DigestText writes a digest in the layout of pt-query-digest's report: every line is a comment, but for the samples,
// each of which is one or more SQL statements that the mysql client reads as they are. A sample that it would read
// otherwise stands in comments, with the reason. What Dyno adds is in comments of its own, behind the lines of the
// layout that they belong to.
func DigestText(w io.Writer, r *digest.Report, o DigestOptions) error {
	p := &digestText{w: newDigestOut(w), o: o, r: digestClean(r, o)}
	p.head()
	p.profile(o.classes(r))
	for _, k := range o.classes(r) {
		if p.class(k); p.w.err != nil { // nobody reads on
			break
		}
	}
	return p.w.end("digest")
}

type digestText struct {
	w *digestOut
	o DigestOptions
	r *digest.Report // without its classes
}

// line writes a line of comment; s is one line, whatever is in it.
func (p *digestText) line(s string) {
	p.w.text(strings.TrimRight("# "+Visible(s, false), " ") + "\n")
}

// lines writes a text of several lines as comments, behind an indent.
func (p *digestText) lines(s string) {
	for l := range strings.Lines(Visible(s, true)) {
		p.w.text(strings.TrimRight("#    "+strings.TrimRight(l, "\n"), " ") + "\n")
	}
}

// item writes a text behind its label.
func (p *digestText) item(label, s string) { p.line(pad(label, 12) + " " + s) }

// filled writes a heading with underscores up to the width.
func (p *digestText) filled(s string) {
	s = Visible(s, false)
	p.line(s + " " + strings.Repeat("_", max(0, digestWidth-3-cells(s))))
}

func (p *digestText) gap() { p.w.text("\n") }

func rateText(v known.Value[float64]) string { return told(v, digestUnknown, digestRate) }

func (p *digestText) head() {
	g := p.r.Global
	p.gap()
	if o := p.o; o.User > 0 || o.System > 0 || o.RSS > 0 {
		p.line(digestTimes(o.User.Seconds(), 1) + " user time, " + digestTimes(o.System.Seconds(),
			1) + " system time, " +
			digestAmount(float64(o.RSS), 1024) + " rss, " + digestAmount(float64(o.Virtual), 1024) + " vsz")
	}
	if !p.o.At.IsZero() {
		p.line("Current date: " + p.o.At.Format("Mon Jan _2 15:04:05 2006"))
	}
	if p.o.Host != "" {
		p.line("Hostname: " + p.o.Host)
	}
	if len(g.Files) > 0 {
		p.line("Files: " + strings.Join(each(g.Files, func(f digest.File) string { return f.Name }), ", "))
	}
	if g.Target != "" {
		p.line("Target: " + g.Target)
	}
	p.filled("Overall: " + digestRate(float64(g.Count)) + " total, " + digestRate(float64(g.Classes)) + " unique, " +
		rateText(g.QPS) + " QPS, " + rateText(g.Concurrency) + "x concurrency")
	if t := globalRange(g); t != "" {
		p.line("Time range: " + t)
	}
	if len(digestLines(g.Attributes)) > 0 {
		p.heads("")
	}
	p.figures(g.Attributes, nil)
	p.flags(digestFlags(g.Flags))
	for _, n := range digestNotes(p.r) {
		p.line(n)
	}
	if head, parts := digestSkipped(p.r); head != "" {
		p.line(head)
		for _, s := range parts {
			p.line("   " + s)
		}
	}
}

// heads begins a table of figures; first is the head of the share.
func (p *digestText) heads(first string) {
	p.line(digestRowText("Attribute", append([]string{first}, digestHeads[:]...)...))
	rule := append([]string{strings.Repeat("=", len(first))}, slices.Repeat([]string{"======="}, len(digestHeads))...)
	p.line(digestRowText(strings.Repeat("=", 12), rule...))
}

// figures are the attributes, with their shares of all statements' where these are given.
func (p *digestText) figures(m, all map[string]digest.Figures) {
	group := ""
	for _, l := range digestLines(m) {
		if l.Group != group {
			group = l.Group
			p.line(group + ":")
		}
		pct := ""
		if all != nil {
			pct = digestPercent(l.f.Sum, all[l.Key].Sum)
		}
		p.line(digestRowText(l.Label, append([]string{pct}, l.cells(digestUnknown, l.write)...)...))
	}
}

func (p *digestText) flags(fs []digestFlag) {
	if len(fs) > 0 {
		p.line("Boolean:")
	}
	for _, f := range fs {
		n := float64(f.s.Yes + f.s.No)
		p.line(pad(f.Label, 12) + " " + padLeft(digestPercent(float64(f.s.Yes), n), 3) + "% yes, " +
			padLeft(digestPercent(float64(f.s.No), n), 3) + "% no")
	}
}

// profile is the table of all classes.
func (p *digestText) profile(classes iter.Seq2[int, digest.Row]) {
	t := [][]string{{"Rank", "Query ID", "Response time", "Calls", "R/Call", "V/M", "Item"}}
	row := func(rank, id string, sum known.Value[float64], share float64, calls uint64, sampled bool, vm, item string) {
		response, each := digestUnknown, digestUnknown
		if s, ok := sum.Get(); ok {
			response = strconv.FormatFloat(s, 'f', 4, 64) + " " + padLeft(digestShare(share)+"%", 5)
			if calls > 0 && !sampled {
				each = strconv.FormatFloat(s/float64(calls), 'f', 4, 64)
			}
		}
		t = append(t, []string{rank, "0x" + id, response, digestCount(calls), each, vm, item})
	}
	for _, k := range classes {
		vm := told(k.VarianceToMean, digestUnknown, twoDigits)
		row(strconv.Itoa(k.Rank), Visible(k.ID, false), digestSum(k.Attributes), k.Share, k.Count, k.Sampled, vm,
			Visible(digestItem(&k), false))
	}
	if m := p.r.Other; m.Classes > 0 {
		sum := known.None[float64]()
		if digestSum(p.r.Global.Attributes).OK() {
			sum = known.Of(m.QuerySec)
		}
		row("MISC", "MISC", sum, m.Share, m.Count, false, "0.0", "<"+strconv.Itoa(m.Classes)+" ITEMS>")
	}
	if len(t) == 1 {
		return
	}
	last := len(t[0]) - 1
	width := make([]int, last+1)
	for _, r := range t {
		for i, c := range r {
			width[i] = max(width[i], cells(c))
		}
	}
	width[5], width[last] = max(width[5], 5), len(t[0][last])
	p.gap()
	p.line("Profile")
	for n, r := range t {
		for i, c := range r[:last] {
			if r[i] = padLeft(c, width[i]); n == 0 || i == 1 {
				r[i] = pad(c, width[i])
			}
		}
		p.line(strings.Join(r, " "))
		if n == 0 {
			p.line(strings.Join(each(width, func(w int) string { return strings.Repeat("=", w) }), " "))
		}
	}
}

// digestItem is the short form of a class.
func digestItem(k *digest.Row) string {
	if k.Item != "" {
		return k.Item
	}
	return clip(k.Fingerprint, 60)
}

func (p *digestText) class(k digest.Row) {
	what, at := "Query", ""
	if !p.o.fingerprints() {
		what = "Item"
	}
	if src := p.r.Global.Source; src == "" || strings.HasSuffix(src, "_log") {
		offset := int64(0)
		if k.Worst != nil {
			offset = k.Worst.Offset
		}
		at = " at byte " + strconv.FormatInt(offset, 10)
	}
	p.gap()
	p.filled(what + " " + strconv.Itoa(k.Rank) + ": " + rateText(k.QPS) + " QPS, " + rateText(k.Concurrency) +
		"x concurrency, ID 0x" + k.ID + at)
	p.line("Scores: V/M = " + told(k.VarianceToMean, digestUnknown, twoDigits))
	if t := digestRange(k.FirstSeen, k.LastSeen); t != "" {
		p.line("Time range: " + t)
	}
	p.heads("pct")
	p.line(digestRowText("Count", digestPercent(float64(k.Count), float64(p.r.Global.Count)), digestCount(k.Count)))
	p.figures(k.Attributes, p.r.Global.Attributes)
	p.flags(digestFlags(k.Flags))
	p.strings(&k)
	for i, l := range distribution(&k, barWidth, false) {
		if i == 0 {
			p.line("Query_time distribution")
		}
		p.line(l)
	}
	p.extras(&k)
	if p.o.fingerprints() {
		p.tables(&k)
	} else {
		p.line("Item: " + k.Fingerprint)
	}
	p.sample(&k)
}

// strings are the lists of names.
func (p *digestText) strings(k *digest.Row) {
	if len(k.Databases)+len(k.Hosts)+len(k.ErrorCodes)+len(k.Users) > 0 || k.Killed > 0 {
		p.line("String:")
	}
	list := func(label string, ts []digest.Tally) {
		if len(ts) > 0 {
			p.item(label, tallyText(ts, k.Count))
		}
	}
	list("Databases", k.Databases)
	list("Hosts", k.Hosts)
	list("Last errno", k.ErrorCodes)
	list("Users", k.Users)
	if k.Killed > 0 {
		p.item("Killed", digestCount(k.Killed))
	}
}

var address = lazyregexp.New(`\d+\.\d+\.\d+\.\d+`)

// tallyText lists names with their counts, as many as go on a line. Long names are cut, addresses are not.
func tallyText(ts []digest.Tally, of uint64) string {
	cut := func(s string, n int) string {
		s = Visible(s, false)
		if c := clipPlain(s, n); c != s {
			return c + "..."
		}
		return s
	}
	if len(ts) == 1 && ts[0].Count >= of {
		return cut(ts[0].Name, onlyWidth)
	}
	var b strings.Builder
	for i, t := range ts {
		name := Visible(t.Name, false)
		if !address.MatchString(name) {
			name = cut(name, nameWidth)
		}
		name += " (" + digestCount(t.Count) + "/" + digestPercent(float64(t.Count), float64(of)) + "%)"
		if b.Len()+len(", ")+len(name) > listWidth && i > 0 {
			return b.String() + "... " + strconv.Itoa(len(ts)-i) + " more"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// digestDecades are the labels of a distribution.
var digestDecades = [8]string{"1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s+"}

// distribution draws the histogram of a class, one line a decade and bars up to a width; nothing where the source keeps
// none.
func distribution(k *digest.Row, width float64, counts bool) (out []string) {
	top := most(k.Histogram[:])
	if top == 0 {
		return nil
	}
	for i, n := range k.Histogram {
		l := padLeft(digestDecades[i], 5)
		if n > 0 {
			l += "  " + strings.Repeat("#", max(1, int(float64(n)/float64(top)*width)))
		}
		if n > 0 && counts {
			l += " " + digestCount(n)
		}
		out = append(out, l)
	}
	return out
}

// extras are what the layout has no place for.
func (p *digestText) extras(k *digest.Row) {
	if len(k.PerMinute.Counts) > 1 {
		m := squeezed(k.PerMinute, sparkWidth)
		p.item("Over time", "|"+digestSpark(m.Counts)+"|")
		p.item("", sparkNote(m))
	}
	if k.Sampled {
		p.item("Sampled", "figures are estimated from samples")
	}
	if k.Running > 0 {
		p.item("Running", digestCount(k.Running)+" at the end of the window, not counted above")
	}
	if k.Truncated {
		p.item("Truncated", "the source cut the text: fingerprint and ID are of what is left")
	}
	if k.Worst != nil && (len(p.r.Global.Files) > 1 || k.Worst.Time != k.LastSeen) {
		p.item("Worst", sampleNote(k.Worst, len(p.r.Global.Files) > 1))
	}
	if t := k.Typical; t != nil && k.Worst != nil && (t.Offset != k.Worst.Offset || t.File != k.Worst.File ||
		t.SQL != k.Worst.SQL) {
		p.item("Typical", sampleNote(t, len(p.r.Global.Files) > 1))
		if t.SQL != k.Worst.SQL {
			p.lines(clip(digestShort(p.r.Dialect, t.SQL), extraWidth))
		}
	}
	if len(k.Plan) > 0 {
		p.line("Plan of the worst")
		p.lines(strings.Join(k.Plan, "\n"))
	}
}

// sampleNote says where a sample came from.
func sampleNote(s *digest.Sample, file bool) string {
	parts := []string{digestTimes(s.QuerySec, 1)}
	if !s.Time.IsZero() {
		parts = append(parts, digestStamp(s.Time))
	}
	if s.User != "" || s.Host != "" {
		parts = append(parts, s.User+"@"+s.Host)
	}
	if s.DB != "" {
		parts = append(parts, "database "+s.DB)
	}
	if s.Thread > 0 {
		parts = append(parts, "thread "+digestCount(s.Thread))
	}
	if s.File != "" || s.Offset > 0 { // what a server tells of itself has no place in a file
		at := "byte " + strconv.FormatInt(s.Offset, 10)
		if file && s.File != "" {
			at += " of " + s.File
		}
		parts = append(parts, at)
	}
	return strings.Join(parts, ", ")
}

func (p *digestText) tables(k *digest.Row) {
	if len(k.Tables) == 0 {
		return
	}
	p.line("Tables")
	db := ""
	if k.Worst != nil {
		db = k.Worst.DB
	}
	for _, t := range k.Tables {
		if p.r.Dialect == nil {
			p.line("   " + t)
			continue
		}
		for _, sql := range p.r.Dialect.ShowTable(t, db) {
			p.line("   " + sql)
		}
	}
}

func (p *digestText) sample(k *digest.Row) {
	if k.Worst == nil || k.Worst.SQL == "" {
		if p.o.fingerprints() {
			p.line("No sample; the fingerprint:")
			p.lines(clip(k.Fingerprint, extraWidth))
		}
		return
	}
	if strings.HasPrefix(k.Fingerprint, "administrator command: ") {
		p.line(clip(k.Fingerprint, extraWidth) + `\G`)
		return
	}
	sql := digestShort(p.r.Dialect, k.Worst.SQL)
	text, why := "", "its dialect is not known"
	if p.r.Dialect != nil {
		text, why = p.r.Dialect.Live(sql)
	}
	if k.Worst.Cut {
		why = "it is cut"
	}
	if why != "" {
		p.line("Sample in comments, " + why + ":")
		p.lines(clip(sql, extraWidth))
		return
	}
	p.w.text(text)
}

// digestShort leaves rows and members of lists out of a long statement, if its dialect is known.
func digestShort(d digest.Dialect, sql string) string {
	if d == nil {
		return sql
	}
	return d.Short(sql)
}
