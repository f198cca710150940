package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Options says how Text may draw.
type Options struct {
	Width int  // columns; 0 means 100, what is below 60 counts as 60
	Color bool // ANSI colours
}

const defaultWidth, leastWidth = 100, 60

// Text writes the document for a terminal. Nothing but the texts themselves may go beyond the width: a word that is
// longer than a line is cut there.
func Text(w io.Writer, d *Document, o Options) error {
	d, p := shown(d), newTextPage(o)
	left, right := spaced("Dyno "+string(d.Kind), d.ID), stamp(d.At)+" UTC"
	if n := p.width - cells(left) - cells(right); n > 1 {
		left += strings.Repeat(" ", n) + right
	} else {
		left += " " + right
	}
	p.wrapped(dim, "", left)
	p.wrapped(bold, "", d.Title)
	p.blocks(d.blocks(asText))
	return written(w, p.b.String(), "report")
}

type textPage struct {
	b     strings.Builder
	width int
	color bool
}

func newTextPage(o Options) *textPage {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	return &textPage{width: max(o.Width, leastWidth), color: o.Color}
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

// wrapped writes s in a style, in as many lines as it takes.
func (p *textPage) wrapped(style, indent, s string) {
	for _, l := range wrapKeep(s, p.width-cells(indent)) {
		p.line(indent + p.paint(style, l))
	}
}

func (p *textPage) blocks(bs []block) {
	for i, b := range bs {
		if i > 0 && apart(bs[i-1], b) {
			p.line("")
		}
		switch x := b.(type) {
		case section:
			p.heading(x)
			p.blocks(x.Body)
		case para:
			p.para("  ", x.Text)
		case bullets:
			for _, y := range x.Items {
				p.para("  "+cmp.Or(y.Sign.Sign, x.Mark, "•")+" ", spaced(y.head(), y.Text))
				if y.Fix != "" {
					p.code("    Fix: ", y.Fix)
				}
			}
		case facts:
			p.facts(x)
		case signs:
			p.signs(x)
		case code:
			if x.Label != "" {
				p.para("  ", x.Label+":")
				p.code("    ", x.Text)
				continue
			}
			p.code("  ", x.Text)
		case cards:
			p.table("  ", x.table)
		case ranked:
			p.table("  ", x.table)
		case table:
			p.table("  ", x)
		case grid:
			p.grid(x)
		case drawing:
			x.Chars(p)
		case tree:
			for _, n := range x {
				p.para("  ", n.Text)
				p.branches(n.Then, "  ")
			}
		case moments:
			for _, m := range x {
				p.para("  "+padLeft(m.At, 11)+"  ", m.Text)
			}
		case fold:
			p.wrapped(bold, "  ", x.Summary)
			p.blocks(x.Body)
		case hero:
			p.hero(x)
		}
	}
}

// branches writes a reasoning as a tree, one thought a line, each with the lines that lead to it.
func (p *textPage) branches(nodes []Node, lead string) {
	for i, n := range nodes {
		turn, on := "├─ ", "│  "
		if i == len(nodes)-1 {
			turn, on = "└─ ", "   "
		}
		turn = lead + turn
		for _, l := range wrap(n.Text, p.width-cells(turn)) {
			p.line(turn + l)
			turn = lead + on
		}
		p.branches(n.Then, lead+on)
	}
}

// apart reports whether a line stays empty between two blocks.
func apart(above, b block) bool {
	switch x := b.(type) {
	case para:
		switch above.(type) {
		case para, ranked:
			return true
		}
	case code:
		return x.Label == ""
	case table:
		_, ok := above.(code)
		return ok
	}
	return false
}

func (p *textPage) heading(x section) {
	switch {
	case x.Part:
		p.line("")
		p.wrapped(bold, "  ", x.Title)
	case x.Badge != "":
		p.section(x.Over)
		badge := strings.ToUpper(x.Badge)
		style := yellow
		if x.Badge == string(finding.Critical) {
			style = red
		}
		lead := "  " + p.paint(style, badge) + "  "
		for _, l := range wrap(x.Title, p.width-4-cells(badge)) {
			p.line(lead + p.paint(bold, l))
			lead = strings.Repeat(" ", 4+cells(badge))
		}
	default:
		p.section(x.head())
	}
}

func (p *textPage) hero(x hero) {
	if h := x.Headline; h != nil {
		p.line("")
		badge := h.Sign() + " " + strings.ToUpper(string(h.Result))
		s, n := "  "+p.paint(cmp.Or(signStyle(markFor(h.Result).Word), bold), badge), 2+cells(badge)
		if h.Figure != "" {
			s, n = s+"   "+p.paint(bold, h.Figure), n+3+cells(h.Figure)
		}
		if n+1+cells(h.Of) <= p.width {
			p.line(s + " " + h.Of)
		} else {
			p.line(s)
			p.para("  ", h.Of)
		}
		for _, l := range []string{h.Interval, h.Margin} {
			if l != "" {
				p.para("  ", l)
			}
		}
	}
	for _, r := range x.Reasons {
		p.para("  ! ", r)
	}
	if x.Sentence != "" {
		p.line("")
		p.para("  ", x.Sentence)
	}
	if len(x.Tally) > 0 {
		p.line("")
		l, n := " ", 0
		for _, t := range x.Tally {
			s := t.text()
			if n > 0 && n+3+cells(s) > p.width {
				p.line(l)
				l, n = " ", 0
			}
			l, n = l+" "+p.paint(cmp.Or(signStyle(t.Word), bold), s)+"  ", n+cells(s)+3
		}
		p.line(l)
	}
	for _, m := range x.Notes {
		first := "  "
		if m.Odd {
			first = "  ! "
		} else if m.Sign.Sign != "" {
			first = "  " + m.Sign.Sign + " "
		}
		p.para(first, m.Text)
	}
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

// forest draws the ratio of each pair and the interval of the verdict over one axis.
func (p *textPage) forest(d *Document) {
	e := d.Experiment
	pairs, m := e.pairs(), e.main()
	if len(pairs) == 0 {
		return
	}
	f, ok := newForest(d)
	rows := append([][]string{{"pair", e.Baseline, e.Variant, "ratio"}}, each(pairs, func(x pair) []string {
		return []string{strconv.Itoa(x.N), value(x.Before, m.Unit), value(x.After, m.Unit), factorOf(x.Ratio)}
	})...)
	var ws [4]int
	for _, r := range rows {
		for i, c := range r {
			r[i] = clip(c, min(24, (p.width-30)/2))
			ws[i] = max(ws[i], cells(r[i]))
		}
	}
	left := ws[0] + ws[1] + ws[2] + ws[3] + 3*2
	n := p.width - 4 - left - 2
	ok = ok && n >= 12
	p.line("")
	for i, r := range rows {
		l := "  "
		for j, c := range r {
			l += padLeft(c, ws[j]) + "  "
		}
		switch {
		case !ok:
		case i == 0:
			a, b := unit.Ratio(f.lo), unit.Ratio(f.hi)
			l += a + strings.Repeat(" ", max(1, n-cells(a)-cells(b))) + b
		case pairs[i-1].Invalid != "":
			l += clip("left out: "+pairs[i-1].Invalid, n)
		default:
			l += f.row(n, pairs[i-1])
		}
		p.line(p.paint(map[bool]string{true: dim}[i == 0], l))
	}
	if ok && f.interval.N > 0 {
		p.line("  " + padLeft("interval", left) + "  " + f.bar(n))
	}
	if f.note != "" {
		p.para("  ", f.note)
	}
}

// chartLines draws all lines over one time axis, with the marks below.
func (p *textPage) chartLines(d *Document) {
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
			if len(x.points) > 0 {
				lo, hi, last := extremes(x.points)
				x.note = bare(lo, c.Unit) + " … " + bare(hi, c.Unit) + ", last " + bare(last, c.Unit)
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
		p.wrapped(bold, "  ", t)
		for _, x := range all[i] {
			p.line("  " + pad(x.name, name) + "  " + p.paint(cyan, sparkline(x.points, from, to, cols, s)) + "  " +
				x.note)
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
		row := make([]textCell, len(r))
		for j, c := range r {
			row[j] = folded(c, ws[j], map[bool]string{true: dim}[i == 0])
			row[j].left = !t.Figure(j) || i > 0 && len(row[j].lines) > 1
		}
		p.row(indent, row, i == 0)
	}
}

// textCell is a cell of a row: lines of a style each, in a column of some width.
type textCell struct {
	lines []painted
	width int
	left  bool
}

type painted struct{ text, style string }

// folded is a text in as many lines as it takes.
func folded(s string, width int, style string) textCell {
	c := textCell{width: width, left: true}
	for _, l := range wrap(s, width) {
		c.lines = append(c.lines, painted{l, style})
	}
	return c
}

// row writes cells beside each other; at the bottom their last lines are level.
func (p *textPage) row(indent string, cs []textCell, bottom bool) {
	height := 0
	for _, c := range cs {
		height = max(height, len(c.lines))
	}
	for k := range height {
		texts := make([]string, len(cs))
		for n, c := range cs {
			i := k
			if bottom {
				i = k - height + len(c.lines)
			}
			var l painted
			if i >= 0 && i < len(c.lines) {
				l = c.lines[i]
			}
			room := strings.Repeat(" ", max(0, c.width-cells(l.text)))
			if texts[n] = room + p.paint(l.style, l.text); c.left {
				texts[n] = p.paint(l.style, l.text) + room
			}
		}
		p.line(indent + strings.Join(texts, "  "))
	}
}

// signs writes short texts, as many to a line as fit.
func (p *textPage) signs(items signs) {
	p.line("")
	l := ""
	for _, s := range items {
		switch {
		case l == "":
			l = s
		case cells(l)+cells(s)+5 <= p.width:
			l += "   " + s
		default:
			p.wrapped(dim, "  ", l)
			l = s
		}
	}
	p.wrapped(dim, "  ", l)
}

// labelMost is the widest that one label of a row or column may be.
const labelMost = 26

// grid draws g; columns that do not fit go into a table of their own below. Nothing is cut but a word longer than a
// line.
func (p *textPage) grid(g grid) {
	labels, all := make([]int, len(g.Corner)), 0
	for i, h := range g.Corner {
		labels[i] = min(labelMost, cells(h))
		for _, row := range g.Labels {
			labels[i] = max(labels[i], min(labelMost, cells(row[i])))
		}
		all += labels[i] + 2
	}
	for ; all > p.width*9/20; all-- { // the figures need the rest
		widest := slices.Index(labels, slices.Max(labels))
		if labels[widest] <= 6 {
			break
		}
		labels[widest]--
	}
	left := 2
	for _, n := range labels {
		left += n + 2
	}
	widths := make([]int, len(g.Heads))
	for j := range g.Heads {
		for i := range g.Cells {
			for _, l := range g.lines(i, j) {
				widths[j] = max(widths[j], cells(l.full()))
			}
		}
		for _, h := range g.Heads[j] { // heads are wrapped rather than widen a column much
			longest := 0
			for _, w := range strings.Fields(h) {
				longest = max(longest, cells(w))
			}
			widths[j] = max(widths[j], min(longest, labelMost), min(cells(h), 12))
		}
		widths[j] = min(widths[j], p.width-left)
	}
	for from := 0; from < len(widths); {
		to, n := from, left-2
		for to < len(widths) && (to == from || n+2+widths[to] <= p.width) {
			n += 2 + widths[to]
			to++
		}
		if from > 0 {
			p.line("")
		}
		p.gridPart(g, labels, widths, from, to)
		from = to
	}
}

func (p *textPage) gridPart(g grid, labels, widths []int, from, to int) {
	var head []textCell
	for i, h := range g.Corner {
		head = append(head, folded(h, labels[i], dim))
	}
	for j := from; j < to; j++ {
		c := textCell{width: widths[j]}
		for _, h := range g.Heads[j] {
			c.lines = append(c.lines, folded(h, widths[j], dim).lines...)
		}
		head = append(head, c)
	}
	p.row("  ", head, true)
	tall := false
	for i := range g.Cells {
		for j := from; j < to; j++ {
			tall = tall || len(g.lines(i, j)) > 2
		}
	}
	for i := range g.Cells {
		if tall && i > 0 {
			p.line("")
		}
		var row []textCell
		for k, l := range g.Labels[i] {
			if i > 0 && k < len(g.Labels[i])-1 && slices.Equal(g.Labels[i][:k+1], g.Labels[i-1][:k+1]) {
				l = "" // as in the row above
			}
			row = append(row, folded(l, labels[k], ""))
		}
		for j := from; j < to; j++ {
			c := textCell{width: widths[j]}
			for _, l := range g.lines(i, j) {
				c.lines = append(c.lines, folded(l.full(), widths[j], l.paint()).lines...)
			}
			row = append(row, c)
		}
		p.row("  ", row, false)
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
			if c := last[len(last)-1]; c >= '0' && c <= '9' && (units[strings.TrimRight(w, ".,;:)")] || len(w) >= 3 &&
				strings.Trim(w[:3], "0123456789") == "") {
				out[n-1] = last + " " + w
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

var units = map[string]bool{
	"%": true, "ns": true, "µs": true, "ms": true, "s": true, "min": true, "h": true, "d": true,
	"B": true, "KiB": true, "MiB": true, "GiB": true, "TiB": true, "rows": true, "cores": true,
}

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
