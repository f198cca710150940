package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Options says how Text may draw.
type Options struct {
	Width int  // columns; 0 means 100, what is below 60 counts as 60
	Color bool // ANSI colours
}

const defaultWidth, leastWidth = 100, 60

// Text writes the document for a terminal. Nothing but the texts themselves may go beyond the width: a word that is longer than
// a line is cut there.
func Text(w io.Writer, d *Document, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	p := &textPage{d: shown(d), width: max(o.Width, leastWidth), color: o.Color}
	p.page()
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

type textPage struct {
	d     *Document
	b     strings.Builder
	width int
	color bool
	brief bool // leave to the report what is not needed at once
}

const (
	bold   = "1"
	dim    = "2"
	red    = "1;31"
	green  = "1;32"
	yellow = "1;33"
	cyan   = "36"
)

func (p *textPage) paint(style, s string) string {
	if !p.color || s == "" || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

func (p *textPage) line(s string) {
	p.b.WriteString(strings.TrimRight(s, " "))
	p.b.WriteByte('\n')
}

func (p *textPage) section(title string) {
	p.line("")
	if cells(title)+4 > p.width {
		first := "── "
		for _, l := range wrap(title, p.width-3) {
			p.line(p.paint(cyan, first+l))
			first = "   "
		}
		return
	}
	p.line(p.paint(cyan, "── "+title+" "+strings.Repeat("─", p.width-4-cells(title))))
}

// para writes s wrapped, its first line behind first and the others behind as many spaces.
func (p *textPage) para(first, s string) {
	n := cells(first)
	if n > p.width/2 { // the name of it is too long to stand beside it
		for _, l := range wrap(first, p.width-2) {
			p.line("  " + l)
		}
		first, n = "    ", 4
	}
	for i, l := range wrap(s, p.width-n) {
		if i == 0 {
			p.line(first + l)
		} else {
			p.line(strings.Repeat(" ", n) + l)
		}
	}
}

// code writes a statement, line by line.
func (p *textPage) code(first, s string) {
	for i, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			first = strings.Repeat(" ", cells(first))
		}
		p.para(first+l[:len(l)-len(strings.TrimLeft(l, " "))], l)
	}
}

func (p *textPage) facts(fs []Fact) {
	n := 0
	for _, f := range fs {
		n = max(n, min(34, cells(f.Name)))
	}
	for _, f := range fs {
		p.para("  "+pad(f.Name, n)+"  ", cmp.Or(f.Value, none))
	}
}

func (p *textPage) page() {
	d := p.d
	left, right := spaced("Dyno "+string(d.Kind), d.ID), stamp(d.At)+" UTC"
	if n := p.width - cells(left) - cells(right); n > 1 {
		left += strings.Repeat(" ", n) + right
	} else {
		left += " " + right
	}
	for _, l := range wrapKeep(left, p.width) {
		p.line(p.paint(dim, l))
	}
	for _, l := range wrap(d.Title, p.width) {
		p.line(p.paint(bold, l))
	}
	p.verdict()
	if d.Comparison != nil {
		p.comparison()
	}
	if len(d.Measures) > 0 {
		p.section("Before and after")
		p.table("  ", d.measures())
	}
	if d.Kind != Diagnosis { // whose charts only illustrate the findings
		p.charts()
	}
	for i, f := range d.Findings {
		p.finding(f, i+1)
	}
	p.reasoning()
	if d.Kind == Diagnosis {
		p.charts()
	}
	p.change()
	if e := d.Experiment; e != nil {
		p.section("Experiment")
		if m := e.method(); m != "" {
			p.para("  ", m)
		}
		p.forest(e)
	}
	if len(d.Classes) > 0 {
		p.section("Query classes")
		for _, c := range d.Classes {
			p.class(c)
		}
	}
	if d.Run != nil {
		p.section("Run")
		p.facts(runTable(d.Run))
	}
	if len(d.Story) > 0 {
		p.section("Events")
		for _, s := range d.Story {
			p.para("  "+padLeft(d.offset(s.At), 11)+"  ", stepSign(s.State)+s.Text)
		}
	}
	if fs := d.place(); len(fs) > 0 {
		p.section("Where and when")
		p.facts(fs)
	}
	if un := d.unobserved(); len(un) > 0 {
		p.section("Not observed")
		for _, s := range un {
			p.para("  • ", sourceText(s))
			if s.Fix != "" {
				p.code("    Fix: ", s.Fix)
			}
		}
	}
	if len(d.Warnings) > 0 {
		p.section("Warnings")
		for _, w := range d.Warnings {
			p.para("  ! ", w)
		}
	}
	if len(d.Commands) > 0 {
		p.section("Commands")
		for _, c := range d.Commands {
			p.para("  ", c.Text+":")
			p.code("    ", c.Line)
		}
	}
}

func resultStyle(r stat.Result) string {
	switch r {
	case stat.Better:
		return green
	case stat.Worse:
		return red
	case stat.Same:
		return bold
	default:
		return yellow
	}
}

func (p *textPage) verdict() {
	d := p.d
	if h, ok := d.headline(); ok {
		p.line("")
		badge := d.symbol(h.Result) + " " + strings.ToUpper(word(h.Result))
		s, n := "  "+p.paint(resultStyle(h.Result), badge), 2+cells(badge)
		if h.Figure != "" {
			s, n = s+"   "+p.paint(bold, h.Figure), n+3+cells(h.Figure)
		}
		if n+1+cells(h.Of) <= p.width {
			p.line(s + " " + h.Of)
		} else {
			p.line(s)
			p.para("  ", h.Of)
		}
		if h.Interval != "" {
			p.para("  ", h.Interval)
		}
		if h.Margin != "" {
			p.para("  ", h.Margin)
		}
		for _, r := range d.Verdict.Reasons {
			p.para("  ! ", r)
		}
	}
	if d.Sentence != "" {
		p.line("")
		p.para("  ", d.Sentence)
	}
}

func stepSign(s StepState) string {
	switch s {
	case StepDone:
		return "✓ "
	case StepFailed:
		return "✗ failed: "
	case StepSkipped:
		return "– skipped: "
	default:
		return ""
	}
}

func (p *textPage) finding(f finding.Finding, n int) {
	p.section(fmt.Sprintf("Finding %d", n))
	style := yellow
	if f.Severity == finding.Critical {
		style = red
	}
	label := "  " + strings.ToUpper(string(f.Severity)) + "  "
	for i, l := range wrap(f.Title, p.width-cells(label)) {
		if i == 0 {
			p.line("  " + p.paint(style, strings.ToUpper(string(f.Severity))) + "  " + p.paint(bold, l))
		} else {
			p.line(strings.Repeat(" ", cells(label)) + p.paint(bold, l))
		}
	}
	p.para("  ", findingMeta(f))
	if f.Cause != "" {
		p.line("")
		p.para("  ", f.Cause)
	}
	if len(f.Evidence) > 0 {
		p.line("")
		p.line("  " + p.paint(bold, "Evidence"))
		t, facts := evidence(f)
		if len(t.Rows) > 0 {
			p.table("  ", t)
		}
		for _, x := range facts {
			p.para("  • ", x)
		}
	}
	if len(f.Why) > 0 {
		p.line("")
		p.line("  " + p.paint(bold, "Reasoning"))
		for _, r := range f.Why {
			p.para("  ? ", r.Ask)
			p.para("    ", reasonText(r))
		}
	}
	for _, x := range []struct {
		name string
		vs   []string
	}{{"Also explains", f.Merged}, {"Counter-evidence", f.Against}, {"Data unavailable", f.Unobserved}} {
		if len(x.vs) > 0 {
			p.line("")
			p.line("  " + p.paint(bold, x.name))
			for _, v := range x.vs {
				p.para("  • ", v)
			}
		}
	}
	p.line("")
	for _, x := range findingTail(f) {
		p.para("  "+pad(x.Name, 15)+"  ", x.Value)
	}
	if f.Action != nil && p.d.Change == nil {
		p.code("  SQL              ", f.Action.SQL)
		if f.Action.Undo != "" {
			p.code("  undo             ", f.Action.Undo)
		}
	}
	if len(f.Setting) > 0 && p.d.Change == nil {
		p.para("  to keep it       ", forGood(f)+":")
		for _, l := range f.Setting {
			p.line("                     " + l)
		}
	}
}

// forGood says where the lines of a finding go.
func forGood(f finding.Finding) string {
	s := "in " + cmp.Or(f.File, "my.cnf")
	if f.File == "" || f.File == "my.cnf" {
		s += " under [mysqld]"
	}
	if f.Restart {
		s += ", and restart the server"
	}
	return s
}

// findingMeta is the small print of a finding.
func findingMeta(f finding.Finding) string {
	s := f.ID
	if f.Confidence != "" {
		s += " · " + string(f.Confidence)
	}
	if f.Share > 0 {
		s += " · " + unit.Percent(f.Share) + " of the server's statement time"
	}
	for i, t := range f.Subject.Tables {
		if i == 5 {
			s += fmt.Sprintf(" · and %d more tables", len(f.Subject.Tables)-i)
			break
		}
		s += " · " + t.String()
	}
	for _, v := range f.Subject.Variables {
		s += " · " + v
	}
	for i, id := range f.Subject.Sessions {
		if i == 5 {
			s += fmt.Sprintf(" · and %d more sessions", len(f.Subject.Sessions)-i)
			break
		}
		s += fmt.Sprintf(" · session %d", id)
	}
	return s
}

func reasonText(r finding.Reason) string {
	if r.Source == "" {
		return r.Answer
	}
	return r.Answer + " (" + r.Source + ")"
}

// findingTail is what to do about a finding and what that means.
func findingTail(f finding.Finding) []Fact {
	var fs []Fact
	add := func(name, v string) {
		if v != "" {
			fs = append(fs, Fact{name, v})
		}
	}
	add("suggestion", f.Suggestion)
	add("cost", f.Cost)
	if g := f.Gain; g != nil {
		t := g.Text
		if t == "" {
			t = fmt.Sprintf("%s: %s to %s", g.What, unit.Ratio(g.Lo), unit.Ratio(g.Hi))
		}
		add("expected", t)
	}
	if f.Tested != nil {
		add("tried", f.Tested.Text)
	}
	add("to disprove", f.Falsify)
	add("holds for", f.Valid)
	add("see", f.Reference)
	return fs
}

func (p *textPage) change() {
	c := p.d.Change
	if c == nil {
		return
	}
	p.section("The change")
	p.para("  ", changeText(*c))
	p.code("  SQL   ", c.SQL)
	if c.Undo != "" {
		p.code("  undo  ", c.Undo)
	}
	if c.UndoCommand != "" {
		p.code("        ", c.UndoCommand)
	}
	for _, n := range c.Notes {
		p.para("  "+padLeft(p.d.offset(n.At), 11)+"  ", n.Text)
	}
}

func changeText(c AppliedChange) string {
	s := c.Text
	if c.State != "" {
		s += " · " + string(c.State)
	}
	if v, ok := c.TookSec.Get(); ok {
		s += " in " + unit.Seconds(v)
	}
	if c.Journal != "" {
		s += " · journal " + c.Journal
	}
	if c.By != "" {
		s += " · requested by " + c.By + ", in the web UI"
	}
	return s
}

func (p *textPage) class(c ClassChange) {
	p.line("")
	p.code("  ", c.Fingerprint)
	p.para("  ", classMeta(c))
	p.table("  ", c.figures())
}

func classMeta(c ClassChange) string {
	s := c.ID
	if c.Schema != "" {
		s += " · " + c.Schema
	}
	if c.Origin != "" {
		s += " · from " + string(c.Origin)
	}
	if c.Sampled {
		s += " · sampled: shares are estimates, rows examined and sent are lower bounds"
	}
	return s
}

// forest draws the ratio of each pair and the interval of the verdict over one axis.
func (p *textPage) forest(e *Experiment) {
	m := e.main()
	pairs := e.pairs()
	if len(pairs) == 0 {
		return
	}
	f, ok := newForest(p.d)
	rows := [][]string{{"pair", e.Baseline, e.Variant, "ratio"}}
	for _, x := range pairs {
		rows = append(rows, []string{fmt.Sprint(x.N), value(x.Before, m.Unit), value(x.After, m.Unit), factorOf(x.Ratio)})
	}
	var ws [4]int
	most := min(24, (p.width-30)/2)
	for _, r := range rows {
		for i, c := range r {
			r[i] = clip(c, most)
			ws[i] = max(ws[i], cells(r[i]))
		}
	}
	n := p.width - 4 - ws[0] - ws[1] - ws[2] - ws[3] - 3*2 - 2
	p.line("")
	for i, r := range rows {
		l := "  "
		for j, c := range r {
			l += padLeft(c, ws[j]) + "  "
		}
		if ok && n >= 12 {
			switch {
			case i == 0:
				a, b := unit.Ratio(f.lo), unit.Ratio(f.hi)
				l += a + strings.Repeat(" ", max(1, n-cells(a)-cells(b))) + b
			case pairs[i-1].Invalid != "":
				l += clip("left out: "+pairs[i-1].Invalid, n)
			default:
				l += f.row(n, pairs[i-1])
			}
		}
		if i == 0 {
			l = p.paint(dim, l)
		}
		p.line(l)
	}
	if ok && n >= 12 && f.interval.N > 0 {
		label := padLeft("interval", ws[0]+ws[1]+ws[2]+ws[3]+6)
		p.line("  " + label + "  " + f.bar(n))
	}
	if ok && f.note != "" {
		p.para("  ", f.note)
	}
}

func (p *textPage) charts() {
	if len(p.d.Charts) > 0 {
		p.section("Over time")
		p.chartLines()
	}
}

// chartLines draws all lines over one time axis, with the marks below.
func (p *textPage) chartLines() {
	d := p.d
	from, to := d.span()
	type drawn struct {
		name, note string
		points     []metric.Point
	}
	var all [][]drawn
	name, note := 0, 0
	for _, c := range d.Charts {
		var ds []drawn
		for _, l := range c.Lines {
			x := drawn{clip(l.Name, 16), "not measured", within(l.Points, from, to)}
			if n := len(x.points); n > 0 {
				byValue := func(a, b metric.Point) int { return cmp.Compare(a.Value, b.Value) }
				x.note = bare(slices.MinFunc(x.points, byValue).Value, c.Unit) + " … " + bare(slices.MaxFunc(x.points, byValue).Value, c.Unit) +
					", last " + bare(x.points[n-1].Value, c.Unit)
			}
			name, note = max(name, cells(x.name)), max(note, cells(x.note))
			ds = append(ds, x)
		}
		all = append(all, ds)
	}
	cols := max(10, min(p.width-6-name-note, int(to.Sub(from)/time.Second)))
	for i, c := range d.Charts {
		t := c.Title
		if u := head(c.Unit); u != "" {
			t += ", " + u
		}
		s := scaleFor(c.values(from, to))
		if s.log {
			t += ", logarithmic"
		}
		for _, l := range wrap(t, p.width-2) {
			p.line("  " + p.paint(bold, l))
		}
		for _, x := range all[i] {
			p.line("  " + pad(x.name, name) + "  " + p.paint(cyan, sparkline(x.points, from, to, cols, s)) + "  " + x.note)
		}
		if c.Note != "" {
			p.para("  ", c.Note)
		}
	}
	indent := "  " + strings.Repeat(" ", name) + "  "
	span := to.Sub(from).Seconds()
	a, b := "0", timeText(float64(int(span+0.5)), span)+" "+timeUnit(span)
	if n := cols - cells(a) - cells(b); n > 0 {
		p.line(indent + p.paint(dim, a+strings.Repeat(" ", n)+b))
	} else {
		p.line(indent + p.paint(dim, a+" … "+b))
	}
	m := marksOf(d, from, to)
	if row := variantRow(m.Bands, cols); strings.TrimSpace(row) != "" {
		p.line(indent + row)
		p.para(indent, bandLegend(m.Bands, row))
	}
	row := []rune(strings.Repeat(" ", cols))
	for i, x := range m.Points {
		row[min(cols-1, int(x.At*float64(cols)))] = letter(i)
	}
	if len(m.Points) > 0 {
		p.line(indent + string(row))
		for i, x := range m.Points {
			p.para(indent+string(letter(i))+" ", x.Text+" ("+x.Offset+")")
		}
	}
}

// letter names the i-th mark.
func letter(i int) rune {
	if i < 26 {
		return rune('A' + i)
	}
	return '▲'
}

// table draws t; its first columns are wrapped until all fits.
func (p *textPage) table(indent string, t table) {
	all := append([][]string{t.Head}, t.Rows...)
	ws, least := make([]int, len(t.Head)), make([]int, len(t.Head))
	for i, h := range t.Head {
		ws[i] = cells(h)
		for _, word := range strings.Fields(h) {
			least[i] = max(least[i], cells(word))
		}
		for _, r := range t.Rows {
			least[i] = max(least[i], cells(r[i]))
		}
		ws[i] = max(ws[i], least[i])
	}
	// First heads are wrapped, then cells, always those of the widest column that still gives.
	for _, limit := range [][]int{least, nil} {
		for {
			n, widest := cells(indent)+2*(len(ws)-1)-p.width, -1
			for i, w := range ws {
				n += w
				least := 6
				if limit != nil {
					least = limit[i]
				}
				if w > least && (widest < 0 || w > ws[widest]) {
					widest = i
				}
			}
			if n <= 0 || widest < 0 {
				break
			}
			ws[widest]--
		}
	}
	for i, r := range all {
		var lines [][]string
		height := 0
		for j, c := range r {
			ls := wrap(c, ws[j])
			lines = append(lines, ls)
			height = max(height, len(ls))
		}
		for k := range height {
			l := indent
			for j := range r {
				c := ""
				n := k
				if i == 0 { // heads stand on the line below them
					n = k - height + len(lines[j])
				}
				if n >= 0 && n < len(lines[j]) {
					c = lines[j][n]
				}
				if !t.Figure(j) || i > 0 && len(lines[j]) > 1 {
					c = pad(c, ws[j])
				} else {
					c = padLeft(c, ws[j])
				}
				if j > 0 {
					l += "  "
				}
				l += c
			}
			l = strings.TrimRight(l, " ")
			if i == 0 {
				l = p.paint(dim, l)
			}
			p.line(l)
		}
	}
}

// wrapKeep is wrap for a line whose spaces are meant, where it fits.
func wrapKeep(s string, n int) []string {
	if cells(s) <= n {
		return []string{s}
	}
	return wrap(s, n)
}

// wrap breaks s at spaces into lines of at most n cells; a longer word is cut.
func wrap(s string, n int) []string {
	n = max(n, 1)
	var out []string
	for _, part := range strings.Split(s, "\n") {
		cur, used := "", 0
		for _, word := range glued(strings.Fields(part)) {
			w := cells(word)
			if used > 0 && used+1+w <= n {
				cur, used = cur+" "+word, used+1+w
				continue
			}
			if used > 0 {
				out = append(out, cur)
			}
			for w > n {
				head, rest := cut(word, n)
				out = append(out, head)
				word, w = rest, cells(rest)
			}
			cur, used = word, w
		}
		out = append(out, cur)
	}
	return out
}

// glued joins a figure with the unit or the digits that follow it, so that no line ends between them.
func glued(words []string) []string {
	var out []string
	for _, w := range words {
		if n := len(out); n > 0 {
			last := out[n-1]
			if c := last[len(last)-1]; c >= '0' && c <= '9' && (units[strings.TrimRight(w, ".,;:)")] || len(w) >= 3 && strings.Trim(w[:3], "0123456789") == "") {
				out[n-1] = last + " " + w
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

var units = map[string]bool{"%": true, "ns": true, "µs": true, "ms": true, "s": true, "min": true, "h": true, "d": true, "B": true, "KiB": true, "MiB": true, "GiB": true, "TiB": true, "rows": true, "cores": true}

// cut splits s after at most n cells and at least one rune.
func cut(s string, n int) (string, string) {
	w := 0
	for i, r := range s {
		c := runeCells(r)
		if w+c > n && i > 0 {
			return s[:i], s[i:]
		}
		w += c
	}
	return s, ""
}

// cells counts the columns that a text takes in a terminal.
func cells(s string) (n int) {
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	default:
		return 1
	}
}

func pad(s string, n int) string     { return s + strings.Repeat(" ", max(0, n-cells(s))) }
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-cells(s))) + s }
