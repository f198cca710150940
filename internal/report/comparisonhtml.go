package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dyno/internal/stat"
	"dyno/internal/trial"
	"dyno/internal/unit"
)

// comparisonView is what the template draws of a comparison.
type comparisonView struct {
	Tally       []tallied
	Control     string
	ControlSign sign
	ControlOdd  bool
	Correction  string
	Title       string
	Main        htmlGrid
	Empty       string
	Legend      []string
	Problems    []problem
	Differs     []Fact
	Published   table
	PubNote     string
	Curves      []figure
	Ladder      *figure
	LadderFold  bool
	Strips      []folded
	Timeline    *figure
	TrialsText  string
	Further     []titled
	Lists       []titled
	Texts       []said
	Verdicts    table
	Trials      table
	Env         []group
	EnvCount    int
	Unread      []string
	Explained   []Fact
	PlanText    string
	About       string
}

// folded is a picture that may wait behind a line of text.
type folded struct {
	Summary string
	Figure  figure
}

type titled struct {
	Title, Note string
	Grid        htmlGrid
}

// htmlGrid is a table whose heads and labels are nested.
type htmlGrid struct {
	Name string // what a screen reader calls it
	Head [][]htmlHead
	Rows []htmlRow
}

type htmlHead struct {
	Text       string
	Cols, Rows int
	Label      bool // over the labels
}

type htmlRow struct {
	Labels []htmlHead
	Cells  []htmlCell
	First  bool // of a group of rows
}

type htmlCell struct {
	Class string
	Lines []htmlLine
	Glyph *glyph
}

type htmlLine struct{ Class, Sign, Word, Text, N string }

// glyph is an interval of a ratio in a cell, on an axis that all cells of the table share: 0 to 100.
type glyph struct{ One, Lo, Width, From, Way string }

func newComparisonView(d *Document) *comparisonView {
	c := newComparison(d.Comparison)
	v := &comparisonView{About: d.Comparison.Plan.About, TrialsText: c.trialsText(), PlanText: d.Comparison.PlanText}
	if d.Verdict == nil {
		v.Tally = c.tally()
	}
	v.Control, v.ControlSign, v.ControlOdd = c.control()
	v.Correction = c.correction()
	v.Title = c.title()
	switch {
	case len(c.byKey) == 0:
		v.Empty = "The plan has no variants."
	case c.flat():
		v.Main = c.htmlSpread()
	default:
		v.Main = c.htmlStacked()
	}
	v.Main.Name = v.Title
	if len(c.byKey) > 0 {
		v.Legend = c.legend()
	}
	v.Problems = c.problems()
	for _, x := range c.r.AlsoDiffers {
		name, text := c.differing(x)
		v.Differs = append(v.Differs, Fact{name, text})
	}
	for _, x := range c.r.Explained {
		name, text := c.differing(x)
		v.Explained = append(v.Explained, Fact{name, text})
	}
	if t, ok := c.published(); ok {
		v.Published, v.PubNote = t, publishedNote
	}
	for i, s := range c.sweeps() {
		f := figure{Title: s.Title, Keys: s.keys(), Table: s.figures(), Note: "The bands are the intervals."}
		if s.Ratio {
			f.Note = "Below ×1 the value is lower than the baseline's. The bands are the intervals."
			if s.Margin > 0 {
				f.Note += " Within the grey stripe it counts as the same."
			}
		}
		if len(s.Missing) > 0 {
			f.Note = join(f.Note, signFailed+" has no value: "+strings.Join(s.Missing, "; ")+".")
		}
		for _, z := range sizes {
			f.SVGs = append(f.SVGs, s.draw("sweep"+strconv.Itoa(i), z))
		}
		v.Curves = append(v.Curves, f)
	}
	if l, ok := c.ladder(); ok {
		f := figure{Title: l.Title}
		if l.Margin > 0 {
			f.Note = "Within the grey stripe it counts as the same."
		}
		for _, z := range sizes {
			f.SVGs = append(f.SVGs, l.draw("ladder", z))
		}
		v.Ladder, v.LadderFold = &f, len(v.Curves) > 0
	}
	rounds := 0
	for _, t := range c.r.Trials {
		rounds = max(rounds, t.Round)
	}
	strips := c.strips()
	for from := 0; from < len(strips); from += stripsShown {
		to := min(from+stripsShown, len(strips))
		f := folded{Summary: fmt.Sprintf("Strips %d to %d of %d, from %s", from+1, to, len(strips), strips[from].Label)}
		for _, z := range sizes {
			f.Figure.SVGs = append(f.Figure.SVGs, drawStrips(strips[from:to], rounds, "strips"+strconv.Itoa(from), z))
		}
		v.Strips = append(v.Strips, f)
	}
	if len(c.r.Trials) > 0 {
		f := figure{}
		for _, z := range sizes {
			f.SVGs = append(f.SVGs, c.timeline("order", z))
		}
		v.Timeline = &f
		v.Trials = c.trialTable(d)
	}
	if len(c.show) > 1 {
		if c.flat() {
			g, n := c.furtherFlat()
			v.Further = append(v.Further, titled{"Further values" + usually(n), "", g.html("Further values")})
		} else {
			for _, name := range c.show[1:] {
				g, n := c.further(name)
				t := capital(c.metric(name).head())
				v.Further = append(v.Further, titled{t + usually(n), "", g.html(t)})
			}
		}
	}
	for _, name := range c.texts {
		t := capital(c.metric(name).Title)
		v.Further = append(v.Further, titled{t, "", c.textGrid(name).html(t)})
	}
	for _, l := range c.lists() {
		v.Lists = append(v.Lists, titled{l.Title, l.Note, l.grid.html(l.Title)})
	}
	v.Texts = c.said()
	v.Verdicts = c.verdictTable()
	v.Env, v.Unread = c.environment(), c.unread()
	for _, g := range v.Env {
		v.EnvCount += len(g.Facts)
	}
	return v
}

// stripsShown is how many strips a picture has; the first is open.
const stripsShown = 14

// nest writes heads of several levels: neighbours that are equal so far share one.
func nest(lists [][]string, level int) (out []htmlHead) {
	for i, l := range lists {
		if i > 0 && slices.Equal(lists[i-1][:level+1], l[:level+1]) {
			out[len(out)-1].Cols++
			continue
		}
		out = append(out, htmlHead{Text: l[level], Cols: 1, Rows: 1})
	}
	return out
}

// html lays the table out with the heads nested.
func (g grid) html(name string) htmlGrid {
	h := htmlGrid{Name: name}
	depth := 1
	for _, x := range g.Heads {
		depth = max(depth, len(x))
	}
	for level := range depth {
		var row []htmlHead
		if level == 0 {
			for _, t := range g.Corner {
				row = append(row, htmlHead{Text: t, Cols: 1, Rows: depth, Label: true})
			}
		}
		if len(g.Heads) > 0 && len(g.Heads[0]) > level {
			row = append(row, nest(g.Heads, level)...)
		}
		h.Head = append(h.Head, row)
	}
	for i, ls := range g.Labels {
		row := htmlRow{First: i > 0 && len(ls) > 1 && ls[0] != g.Labels[i-1][0]}
		for k, t := range ls {
			if i > 0 && k < len(ls)-1 && slices.Equal(ls[:k+1], g.Labels[i-1][:k+1]) {
				continue // reaches down from above
			}
			n := 1
			for k < len(ls)-1 && i+n < len(g.Labels) && slices.Equal(ls[:k+1], g.Labels[i+n][:k+1]) {
				n++
			}
			row.Labels = append(row.Labels, htmlHead{Text: t, Cols: 1, Rows: n, Label: k == 0})
		}
		for _, c := range g.Cells[i] {
			var cell htmlCell
			for k, l := range c {
				class := "p"
				switch {
				case l.Text == "baseline":
					class = "i is-base"
				case k > 0 || l.Style == dim:
					class = "i"
				}
				cell.Lines = append(cell.Lines, htmlLine{Class: class, Text: l.Text, N: l.Tail})
				if around(l.Text, l.Range) != l.Text {
					cell.Lines = append(cell.Lines, htmlLine{Class: "i", Text: l.Range})
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

func nText(n int) string {
	if n == 0 {
		return ""
	}
	return "n " + strconv.Itoa(n)
}

// htmlStacked is the complete table of the first value.
func (c *comparison) htmlStacked() htmlGrid {
	h := c.stacked().html("")
	span := c.reach()
	for i, row := range c.rows {
		for j, col := range c.cols {
			x := c.at(row, col)
			p := c.parts(x, c.main())
			cell := htmlCell{Class: cellClass(x, p)}
			if p.Value != none || p.Note == "" {
				cell.Lines = append(cell.Lines, htmlLine{Class: "v", Text: p.Value})
			}
			if p.N > 0 {
				cell.Lines = append(cell.Lines, htmlLine{Class: "i", Text: p.Interval, N: nText(p.N)})
			}
			if s := p.ratioLine(); s != "" {
				cell.Lines = append(cell.Lines, htmlLine{Class: "r", Sign: p.Mark.Sign, Word: p.Mark.Word, Text: strings.TrimSpace(strings.TrimPrefix(s, p.Mark.Sign))})
			}
			if s := p.boundsLine(); s != "" {
				cell.Lines = append(cell.Lines, htmlLine{Class: "i", Text: p.Bounds, N: nText(p.RatioN)})
				cell.Glyph = c.glyph(x, span)
			}
			h.Rows[i].Cells[j] = cell
		}
	}
	return h
}

// htmlSpread is the complete table of the first value when its parts take the columns.
func (c *comparison) htmlSpread() htmlGrid {
	h := c.spread().html("")
	span := c.reach()
	i := 0
	for _, row := range c.rows {
		for _, col := range c.cols {
			x := c.at(row, col)
			p := c.parts(x, c.main())
			cells := h.Rows[i].Cells
			for j := range cells {
				for k := range cells[j].Lines {
					cells[j].Lines[k].Class = "i"
				}
			}
			cells[0].Lines[0].Class = "v"
			if len(cells) > 3 {
				cells[3] = htmlCell{Class: cellClass(x, p), Lines: []htmlLine{{Class: "r", Sign: p.Mark.Sign, Word: p.Mark.Word, Text: strings.TrimSpace(strings.TrimPrefix(p.ratioLine(), p.Mark.Sign))}}}
				if p.boundsLine() != "" {
					cells[3].Glyph = c.glyph(x, span)
				}
			}
			i++
		}
	}
	return h
}

func cellClass(x cellView, p parts) string {
	switch {
	case !x.there:
		return "c-hole"
	case p.Mark.Class != "":
		return p.Mark.Class
	case x.baseline:
		return "c-base"
	default:
		return "c-none"
	}
}

// reach is how far, as a logarithm, the ratios of the first value go from ×1, with room.
func (c *comparison) reach() float64 {
	most := 0.02
	for _, x := range c.byKey {
		if i, ok := c.ratio(x, c.main()); ok && i.Lo > 0 && i.Hi < 1e15 {
			most = max(most, math.Abs(math.Log(i.Lo)), math.Abs(math.Log(i.Hi)))
		}
	}
	return most * 1.05
}

func (c *comparison) glyph(x cellView, reach float64) *glyph {
	i, ok := c.ratio(x, c.main())
	if !ok || i.Confidence == 0 {
		return nil
	}
	at := func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		return max(0, min(100, 50+50*math.Log(v)/reach))
	}
	m := at(i.Center)
	return &glyph{"50", px(at(i.Lo)), px(max(2, at(i.Hi)-at(i.Lo))), px(min(50, m)), px(math.Abs(m - 50))}
}

// verdictTable tells everything about each comparison.
func (c *comparison) verdictTable() table {
	t := table{
		Head: []string{"variant", "verdict", "ratio (above ×1 is better)", "interval", "its confidence", "pairs", "pairs that favour it", "p, adjusted", "decided after"},
		Left: 2,
	}
	if c.r.Unpaired {
		t.Head[5], t.Head[6] = c.samples(), "share of any two trials that favours it"
	}
	for _, x := range c.ordered() {
		v := x.cell.Verdict
		if v == nil {
			continue
		}
		row := []string{x.label, spaced(markFor(v.Result).Sign, markFor(v.Result).Word), none, none, none, none, none, none, none}
		if v.Ratio.N > 0 {
			row[5] = strconv.Itoa(v.Ratio.N)
		}
		if v.Ratio.N > 0 && v.Result != stat.Invalid {
			center, bounds := ratioText(v.Ratio)
			row[2] = center
			if bounds != "" {
				row[3], row[4] = bounds, unit.Percent(v.Ratio.Confidence)
			}
			row[6] = unit.Percent(v.Favour)
			if v.Adjusted > 0 {
				row[7] = probability(v.Adjusted)
			}
		}
		if v.Closed > 0 {
			row[8] = count(v.Closed, "round", "rounds")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// trialTable lists all trials in the order in which they ran.
func (c *comparison) trialTable(d *Document) table {
	t := table{Head: []string{"no.", "round", "variant", "began", "set up", "warm-up", "measured"}, Left: 3, Tail: 1}
	var ms []metricInfo
	for _, n := range c.show {
		m := c.metric(n)
		ms = append(ms, m)
		t.Head = append(t.Head, m.head())
	}
	t.Head = append(t.Head, "remarks")
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " s" }
	for _, x := range c.r.Trials {
		name := c.name(x.Variant)
		if x.Control {
			name += " (against itself)"
		}
		row := []string{strconv.Itoa(x.Seq), strconv.Itoa(x.Round), name, d.offset(x.From), seconds(x.Setup), seconds(x.Warm), seconds(x.To.Sub(x.From).Seconds())}
		for _, m := range ms {
			v := none
			if y, ok := x.Values[m.Name]; ok {
				v = m.cell(y)
			}
			row = append(row, v)
		}
		var remarks []string
		if x.Invalid != "" {
			remarks = append(remarks, "does not count: "+x.Invalid)
		}
		if len(x.Errors) > 0 {
			remarks = append(remarks, errorsText(x))
		}
		t.Rows = append(t.Rows, append(row, strings.Join(append(remarks, x.Warnings...), "; ")))
	}
	return t
}

func errorsText(t trial.Trial) string {
	var keys []string
	for k := range t.Errors {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%d × %s", t.Errors[k], k))
	}
	return "errors: " + strings.Join(parts, ", ")
}

// symbol is the sign of the headline's result: that of the tables in a comparison.
func (d *Document) symbol(r stat.Result) string {
	if m := markFor(r); d.Comparison != nil && m.Sign != "" {
		return m.Sign
	}
	return symbol(r)
}
