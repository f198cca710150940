package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dyno/internal/trial"
)

// ComparisonTable writes what belongs at the end of a comparison on a terminal: the outcome, the control, the table of the first
// value with what failed, what was published and what else differs, and the further values. Text writes the whole report.
func ComparisonTable(w io.Writer, r *trial.Result, o Options) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	d := shown(Comparison(r, r.Ended))
	p := &textPage{d: d, width: max(o.Width, leastWidth), color: o.Color, brief: true}
	p.verdict()
	c := newComparison(d.Comparison)
	p.comparisonHead(c)
	p.comparisonMain(c)
	p.comparisonFurther(c)
	if len(d.Warnings) > 0 {
		p.section("Warnings")
		for _, w := range d.Warnings {
			p.para("  ! ", w)
		}
	}
	if _, err := io.WriteString(w, strings.TrimLeft(p.b.String(), "\n")); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// comparison writes everything between the verdict and where it was.
func (p *textPage) comparison() {
	c := newComparison(p.d.Comparison)
	p.comparisonHead(c)
	p.comparisonMain(c)
	p.comparisonFurther(c)
	p.section("Trials")
	p.para("  ", c.trialsText())
	for _, t := range c.lost() {
		p.para("  "+signInvalid+" ", c.trialName(t)+": "+t.Invalid)
	}
	if gs := c.environment(); len(gs) > 0 {
		p.section("Environment, the same in all trials")
		for _, g := range gs {
			if len(g.Facts) > manyFacts {
				p.para("  ", g.Name+": "+count(len(g.Facts), "fact", "facts")+", see the page or the JSON")
				continue
			}
			for _, l := range wrap(g.Name, p.width-2) {
				p.line("  " + p.paint(bold, l))
			}
			p.facts(g.Facts)
		}
		for _, s := range c.unread() {
			p.para("  • ", s)
		}
	}
	if n := len(c.r.Explained); n > 0 {
		p.para("  ", count(n, "fact differs", "facts differ")+" because the axes say so or bring it along.")
	}
}

// comparisonFurther writes the values beside the first one.
func (p *textPage) comparisonFurther(c *comparison) {
	if len(c.show) > 1 {
		if c.flat() {
			g, n := c.furtherFlat()
			p.section("Further values" + usually(n))
			p.grid(g)
		} else {
			for _, name := range c.show[1:] {
				g, n := c.further(name)
				p.section(capital(c.metric(name).head()) + usually(n))
				p.grid(g)
			}
		}
	}
	for _, name := range c.texts {
		p.section(capital(c.metric(name).Title))
		p.grid(c.textGrid(name))
	}
	for _, l := range c.lists() {
		p.section(l.Title)
		p.grid(l.grid)
		if l.Note != "" {
			p.para("  ", l.Note)
		}
	}
	if ts := c.said(); len(ts) > 0 {
		p.section("Plans and texts")
		for _, t := range ts {
			p.para("  ", t.Name+", "+t.For+":")
			p.code("    ", t.Text)
		}
	}
}

func usually(n int) string {
	if n == 0 {
		return ""
	}
	return " (n " + strconv.Itoa(n) + " unless told)"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (p *textPage) comparisonHead(c *comparison) {
	if ts := c.tally(); len(ts) > 0 && p.d.Verdict == nil {
		var parts []string
		n := 0
		for _, t := range ts {
			s := t.Sign + " " + strconv.Itoa(t.N) + " " + t.Word
			n += cells(s) + 3
			parts = append(parts, p.paint(cmp.Or(signStyle(t.sign), bold), s))
		}
		if n < p.width {
			p.line("")
			p.line("  " + strings.Join(parts, "   "))
		} else {
			p.line("")
			for _, s := range parts {
				p.line("  " + s)
			}
		}
	}
	if s, m, odd := c.control(); s != "" {
		first := "  "
		if odd {
			first = "  ! "
		} else if m.Sign != "" {
			first = "  " + m.Sign + " "
		}
		p.para(first, s+".")
	}
	if s := c.correction(); s != "" {
		p.para("  ", s+".")
	}
}

// comparisonMain writes the table of the first value and what must be read with it.
func (p *textPage) comparisonMain(c *comparison) {
	p.section(c.title())
	switch {
	case len(c.byKey) == 0:
		p.para("  ", "The plan has no variants.")
	case c.flat():
		p.grid(c.spread())
	default:
		p.grid(c.stacked())
	}
	if len(c.byKey) > 0 {
		p.line("")
		p.legend(c.legend())
	}
	problems := c.problems()
	for i, x := range problems {
		if p.brief && i == briefProblems {
			p.para("  ", "… and "+count(len(problems)-i, "remark", "remarks")+" more in the report.")
			break
		}
		p.para("  "+cmp.Or(x.Mark.Sign, "•")+" ", x.Label+": "+x.Text)
	}
	if t, ok := c.published(); ok {
		p.section(publishedTitle)
		p.table("  ", t)
		p.para("  ", publishedNote)
	}
	if ds := c.r.AlsoDiffers; len(ds) > 0 {
		p.section("Also differs")
		p.para("  ", "Not asked for by any axis, and a possible cause of what was found:")
		for _, d := range ds {
			name, text := c.differing(d)
			p.para("  ! ", name+": "+text)
		}
	}
}

// legend writes short texts, as many to a line as fit.
func (p *textPage) legend(items []string) {
	l := ""
	for _, s := range items {
		switch {
		case l == "":
			l = s
		case cells(l)+cells(s)+5 <= p.width:
			l += "   " + s
		default:
			p.dimmed(l)
			l = s
		}
	}
	p.dimmed(l)
}

func (p *textPage) dimmed(s string) {
	for _, l := range wrapKeep(s, p.width-2) {
		p.line("  " + p.paint(dim, l))
	}
}

// briefProblems is how many remarks on cells stand at the end of a comparison on a terminal.
const briefProblems = 6

// labelMost is the widest that one label of a row or column may be.
const labelMost = 26

// grid draws g; columns that do not fit go into a table of their own below. Nothing is cut but a word longer than a line.
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
			for _, l := range g.Cells[i][j] {
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
	type cell struct {
		lines []styled
		width int
		left  bool
	}
	write := func(cs []cell, bottom bool) {
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
				var s styled
				if i >= 0 && i < len(c.lines) {
					s = c.lines[i]
				}
				room := strings.Repeat(" ", max(0, c.width-cells(s.Text)))
				if c.left {
					texts[n] = p.paint(s.Style, s.Text) + room
				} else {
					texts[n] = room + p.paint(s.Style, s.Text)
				}
			}
			p.line("  " + strings.Join(texts, "  "))
		}
	}
	fold := func(s string, n int, style string) (out []styled) {
		for _, l := range wrap(s, n) {
			out = append(out, styled{Text: l, Style: style})
		}
		return out
	}
	var head []cell
	for i, h := range g.Corner {
		head = append(head, cell{fold(h, labels[i], dim), labels[i], true})
	}
	for j := from; j < to; j++ {
		var ls []styled
		for _, h := range g.Heads[j] {
			ls = append(ls, fold(h, widths[j], dim)...)
		}
		head = append(head, cell{ls, widths[j], false})
	}
	write(head, true)
	tall := false
	for i := range g.Cells {
		for j := from; j < to; j++ {
			tall = tall || len(g.Cells[i][j]) > 2
		}
	}
	for i := range g.Cells {
		if tall && i > 0 {
			p.line("")
		}
		var row []cell
		for k, l := range g.Labels[i] {
			if i > 0 && k < len(g.Labels[i])-1 && slices.Equal(g.Labels[i][:k+1], g.Labels[i-1][:k+1]) {
				l = "" // as in the row above
			}
			row = append(row, cell{fold(l, labels[k], ""), labels[k], true})
		}
		for j := from; j < to; j++ {
			var ls []styled
			for _, l := range g.Cells[i][j] {
				ls = append(ls, fold(l.full(), widths[j], l.Style)...)
			}
			row = append(row, cell{ls, widths[j], false})
		}
		write(row, false)
	}
}

// trialName says which trial t is.
func (c *comparison) trialName(t trial.Trial) string {
	s := "trial " + strconv.Itoa(t.Seq) + ", round " + strconv.Itoa(t.Round) + ", " + c.name(t.Variant)
	if t.Control {
		s += " (against itself)"
	}
	return s
}
