package report

import (
	"cmp"
	"strings"
)

// comparison writes everything between the verdict and where it was. A cell of the first value takes two lines of the table: the
// value, and below it the ratio.
func (p *mdPage) comparison() {
	c := newComparison(p.d.Comparison)
	if ts := c.tally(); len(ts) > 0 && p.d.Verdict == nil {
		var parts []string
		for _, t := range ts {
			parts = append(parts, md(t.Sign)+" **"+count(t.N, t.Word, t.Word)+"**")
		}
		p.line("")
		p.line(strings.Join(parts, " · "))
	}
	if s, _, odd := c.control(); s != "" {
		p.line("")
		if odd {
			s = "Take care. " + s
		}
		p.line(mdStart(s) + ".")
	}
	if s := c.correction(); s != "" {
		p.line("")
		p.line(mdStart(s) + ".")
	}
	p.section(2, c.title())
	switch {
	case len(c.byKey) == 0:
		p.line("The plan has no variants.")
	case c.flat():
		p.grid(c.spread())
	default:
		p.grid(c.twoRows())
	}
	if len(c.byKey) > 0 {
		p.line("")
		p.line(mdStart(strings.Join(c.legend(), " · ")))
	}
	if ps := c.problems(); len(ps) > 0 {
		p.line("")
		for _, x := range ps {
			p.line("- " + mdStart(spaced(x.Mark.Sign, x.Label+": "+x.Text)))
		}
	}
	p.compared(c)
	if len(c.show) > 1 {
		if c.flat() {
			g, n := c.furtherFlat()
			p.section(2, "Further values"+usually(n))
			p.grid(g)
		} else {
			for _, name := range c.show[1:] {
				g, n := c.further(name)
				p.section(2, capital(c.metric(name).head())+usually(n))
				p.grid(g)
			}
		}
	}
	for _, name := range c.texts {
		p.section(2, capital(c.metric(name).Title))
		p.grid(c.textGrid(name))
	}
	for _, l := range c.lists() {
		p.listed(l)
	}
	if ts := c.said(); len(ts) > 0 {
		p.section(2, "Plans and texts")
		for i, t := range ts {
			if i > 0 {
				p.line("")
			}
			p.line(mdStart(t.Name + ", " + t.For + ":"))
			p.line("")
			p.fence("text", t.Text)
		}
	}
	p.section(2, "Trials")
	p.line(mdStart(c.trialsText()))
	if lost := c.lost(); len(lost) > 0 {
		p.line("")
		for _, t := range lost {
			p.line("- " + mdStart(c.trialName(t)+": "+t.Invalid))
		}
	}
	if gs := c.environment(); len(gs) > 0 {
		p.section(2, "Environment, the same in all trials")
		for _, g := range gs {
			if len(g.Facts) > manyFacts {
				p.line("- **" + md(g.Name) + "** " + count(len(g.Facts), "fact", "facts") + ", see the page or the JSON")
				continue
			}
			for _, f := range g.Facts {
				p.line("- **" + md(g.Name+" "+f.Name) + "** " + md(cmp.Or(f.Value, none)))
			}
		}
		p.list(c.unread())
	}
}

// compared are the published figures and what else differs.
func (p *mdPage) compared(c *comparison) {
	if t, ok := c.published(); ok {
		p.section(2, publishedTitle)
		p.table(t)
		p.line("")
		p.line(publishedNote)
	}
	if ds := c.r.AlsoDiffers; len(ds) > 0 {
		p.section(2, "Also differs")
		p.line("Not asked for by any axis, and a possible cause of what was found:")
		p.line("")
		for _, d := range ds {
			name, text := c.differing(d)
			p.line("- **" + md(name) + "** " + md(text))
		}
	}
}

func (p *mdPage) listed(l list) {
	p.section(2, l.Title)
	p.grid(l.grid)
	if l.Note != "" {
		p.line("")
		p.line(mdStart(l.Note))
	}
}

// twoRows is the complete table of the first value with two rows for each of the plan's: the values, and the ratios.
func (c *comparison) twoRows() grid {
	g := grid{Corner: c.corner()}
	for _, col := range c.cols {
		g.Heads = append(g.Heads, col.levels)
	}
	labels := c.labels()
	for i, row := range c.rows {
		var values, ratios [][]styled
		any := false
		for _, col := range c.cols {
			p := c.parts(c.at(row, col), c.main())
			v, q := p.Value, p.ratioLine()
			v = around(v, p.Interval)
			if p.N > 0 {
				v = withN(v, p.N)
			}
			if p.Value == none && p.Note != "" {
				v, q = q, ""
			}
			if b := p.boundsLine(); b != "" {
				if p.Bounds != "" {
					b = strings.Replace(b, p.Bounds, "("+p.Bounds+")", 1)
				}
				q = spaced(q, b)
			}
			any = any || q != ""
			values, ratios = append(values, lines1(v)), append(ratios, lines1(q))
		}
		g.Labels, g.Cells = append(g.Labels, labels[i]), append(g.Cells, values)
		if any {
			g.Labels, g.Cells = append(g.Labels, make([]string, len(labels[i]))), append(g.Cells, ratios)
		}
	}
	return g
}

// grid writes g as a table; the lines of a cell are joined.
func (p *mdPage) grid(g grid) {
	t := table{Head: append([]string{}, g.Corner...), Left: len(g.Corner)}
	for _, h := range g.Heads {
		t.Head = append(t.Head, strings.Join(h, " · "))
	}
	for i, ls := range g.Labels {
		row := append([]string{}, ls...)
		for _, c := range g.Cells[i] {
			var parts []string
			for _, l := range c {
				if l.Text != "" {
					parts = append(parts, l.full())
				}
			}
			row = append(row, strings.Join(parts, ", "))
		}
		t.Rows = append(t.Rows, row)
	}
	p.table(t)
}
