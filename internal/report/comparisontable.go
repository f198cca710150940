package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// grid is a table whose cells have several lines. Columns may be shown some at a time, the labels always.
type grid struct {
	Name   string       // what a screen reader calls it
	Main   bool         // the table of the first value: what stands in brackets has a line of its own
	Corner []string     // heads of the labels: the axes of the rows
	Heads  [][]string   // of each column, one line per axis
	Labels [][]string   // of each row
	Cells  [][]gridCell // by row and column
}

// gridCell is a cell with its class and picture of a page.
type gridCell struct {
	Class string
	Glyph *glyph
	Lines []styled
}

// styled is a line of a cell.
type styled struct {
	Kind  string // class of the page: "v" the value, "r" the ratio, "i" small print, "" another text
	Sign  sign
	Text  string
	Range string // stands behind the text in brackets, or smaller below it
	Tail  string // behind all that
}

func (s styled) full() string { return spaced(spaced(s.Sign.Sign, around(s.Text, s.Range)), s.Tail) }

// paint is the style of the line on a terminal.
func (s styled) paint() string {
	switch {
	case s.Kind == "v":
		return bold
	case s.Kind == "r" && s.Sign.Word != "":
		return signStyle(s.Sign.Word)
	case s.Kind != "":
		return dim
	default:
		return ""
	}
}

// Split puts ranges on lines of their own, in the main table together with what follows them.
func (c gridCell) Split(main bool) (out []styled) {
	for _, l := range c.Lines {
		below := styled{Kind: "i"}
		if main {
			below.Text, below.Tail, l.Tail = l.Range, l.Tail, ""
		} else if around(l.Text, l.Range) != l.Text {
			below.Text = l.Range
		}
		l.Range = ""
		if out = append(out, l); below.full() != "" {
			out = append(out, below)
		}
	}
	return out
}

// lines are those of a cell on a terminal.
func (g grid) lines(row, col int) []styled {
	c := g.Cells[row][col]
	if g.Main {
		return c.Split(true)
	}
	return c.Lines
}

// plain is the grid as a table; the lines of a cell are joined.
func (g grid) plain() table {
	t := table{Head: slices.Clone(g.Corner), Left: len(g.Corner)}
	for _, h := range g.Heads {
		t.Head = append(t.Head, strings.Join(h, " · "))
	}
	for i, ls := range g.Labels {
		row := slices.Clone(ls)
		for _, c := range g.Cells[i] {
			var parts []string
			for _, l := range c.Lines {
				if l.Text != "" || l.Tail != "" {
					parts = append(parts, l.full())
				}
			}
			row = append(row, strings.Join(parts, ", "))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func cellOf(texts ...string) (c gridCell) {
	for _, t := range texts {
		c.Lines = append(c.Lines, styled{Text: t})
	}
	return c
}

func signStyle(word string) string {
	switch word {
	case "better":
		return green
	case "worse", "failed":
		return red
	case "unstable", "invalid":
		return yellow
	default:
		return ""
	}
}

// corner are the heads of the rows' labels.
func (c *comparison) corner() []string {
	if len(c.rowAxes) == 0 {
		return []string{""}
	}
	return c.rowAxes
}

func (c *comparison) labels() (out [][]string) {
	for _, r := range c.rows {
		if len(r.levels) == 0 {
			out = append(out, []string{""})
		} else {
			out = append(out, r.levels)
		}
	}
	return out
}

// table lays cells out in the rows and columns of the plan.
func (c *comparison) table(f func(cellView) gridCell) grid {
	g := grid{Corner: c.corner(), Labels: c.labels()}
	for _, col := range c.cols {
		g.Heads = append(g.Heads, col.levels)
	}
	for _, row := range c.rows {
		var line []gridCell
		for _, col := range c.cols {
			line = append(line, f(c.at(row, col)))
		}
		g.Cells = append(g.Cells, line)
	}
	return g
}

// flatTable is for a plan without columns: what its cells tell takes them.
func (c *comparison) flatTable(f func(cellView) []gridCell, heads ...string) grid {
	g := c.table(func(cellView) gridCell { return gridCell{} })
	g.Heads = nil
	for _, h := range heads {
		g.Heads = append(g.Heads, []string{h})
	}
	for i, row := range c.rows {
		g.Cells[i] = f(c.at(row, c.cols[0]))
	}
	return g
}

// mainTable is the complete table of the first value: value, its interval, ratio, its interval, one below the other or,
// in a plan without columns, side by side.
func (c *comparison) mainTable() grid {
	reach := c.reach()
	ratio := func(x cellView, p LaidFigure) gridCell {
		cell := gridCell{Class: cellClass(x, p)}
		if s := cmp.Or(p.Ratio, p.Note); s != "" {
			cell.Lines = []styled{{Kind: "r", Sign: p.Mark, Text: s}}
		}
		if p.Ratio != "" {
			cell.Glyph = c.glyph(x, reach)
		}
		return cell
	}
	var g grid
	if compared := c.compared() || len(c.used()) > 0; c.flat() {
		heads := []string{c.metric(c.main()).Title, "interval", "n"}
		if compared {
			heads = append(heads, "ratio", "interval", "n")
		}
		g = c.flatTable(func(x cellView) []gridCell {
			p := c.parts(x, c.main())
			small := func(s string) gridCell { return gridCell{Lines: []styled{{Kind: "i", Text: s}}} }
			num := func(n int) gridCell { return small(strings.TrimPrefix(nText(n), "n ")) }
			cells := []gridCell{{Lines: []styled{{Kind: "v", Text: p.Value}}}, small(p.Interval), num(p.N)}
			if compared {
				return append(cells, ratio(x, p), small(p.Bounds), num(p.RatioN))
			}
			if p.Note != "" && p.Value == none {
				cells[0] = cellOf(p.Note)
			}
			return cells
		}, heads...)
	} else {
		g = c.table(func(x cellView) gridCell {
			p := c.parts(x, c.main())
			cell := ratio(x, p)
			for i := range cell.Lines {
				cell.Lines[i].Range, cell.Lines[i].Tail = p.Bounds, nText(p.RatioN)
			}
			if p.Value != none || p.Note == "" {
				value := styled{Kind: "v", Text: p.Value, Range: p.Interval, Tail: nText(p.N)}
				cell.Lines = slices.Insert(cell.Lines, 0, value)
			}
			return cell
		})
	}
	g.Main, g.Name = true, c.title()
	return g
}

// further are the compact tables of the other values, and those of values that are texts: two lines a cell, the number
// of trials only where it is not the usual one.
func (c *comparison) further() (out []block) {
	usually := func(n int) string {
		if n == 0 {
			return ""
		}
		return " (n " + strconv.Itoa(n) + " unless noted)"
	}
	add := func(title string, g grid) {
		g.Name = title
		out = append(out, sec("", title, g))
	}
	switch others := c.show[min(1, len(c.show)):]; {
	case len(others) == 0:
	case c.flat():
		var heads []string
		for _, name := range others {
			heads = append(heads, c.metric(name).head())
		}
		n := c.usual(others...)
		add("Further values"+usually(n), c.flatTable(func(x cellView) (cells []gridCell) {
			for _, name := range others {
				cells = append(cells, c.compact(x, name, n))
			}
			return cells
		}, heads...))
	default:
		for _, name := range others {
			n := c.usual(name)
			g := c.table(func(x cellView) gridCell { return c.compact(x, name, n) })
			add(capital(c.metric(name).head())+usually(n), g)
		}
	}
	for _, name := range c.texts {
		g := c.table(func(x cellView) gridCell {
			p := c.parts(x, name)
			return cellOf(cmp.Or(x.cell.Texts[name], p.Note, p.Value))
		})
		if c.flat() {
			g.Heads = [][]string{{c.metric(name).Title}}
		}
		add(capital(c.metric(name).Title), g)
	}
	return out
}

func (c *comparison) compact(x cellView, name string, usual int) gridCell {
	p := c.parts(x, name)
	if !x.there || p.N == 0 {
		if p.Note != "" && p.Note != "baseline" {
			return gridCell{Lines: []styled{{Kind: "i", Text: p.Note}}}
		}
		return cellOf(p.Value)
	}
	n := func(n int) string {
		if n == usual {
			return ""
		}
		return nText(n)
	}
	cell := gridCell{Lines: []styled{{Text: p.Value, Range: p.Interval, Tail: n(p.N)}}}
	switch {
	case p.Ratio != "":
		cell.Lines = append(cell.Lines, styled{Kind: "i", Text: spaced(around(p.Ratio, p.Bounds), n(p.RatioN))})
	case p.Note == "baseline":
		cell.Lines = append(cell.Lines, styled{Kind: "i is-base", Text: p.Note})
	case p.Note != "":
		cell.Lines = append(cell.Lines, styled{Kind: "i", Text: p.Note})
	}
	return cell
}

func cellClass(x cellView, p LaidFigure) string {
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
	return &glyph{at(i.Lo), max(2, at(i.Hi)-at(i.Lo)), min(50, m), math.Abs(m - 50)}
}

func nText(n int) string {
	if n == 0 {
		return ""
	}
	return "n " + strconv.Itoa(n)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// usual is the number of trials that most cells of the values have.
func (c *comparison) usual(names ...string) int {
	times := map[int]int{}
	for _, x := range c.byKey {
		for _, name := range names {
			if v, ok := x.cell.Values[name]; ok && v.N > 0 {
				times[v.N]++
			}
		}
	}
	best := 0
	for n, k := range times {
		if k > times[best] || k == times[best] && n > best {
			best = n
		}
	}
	return best
}

// any reports whether a cell has a value of that name.
func (c *comparison) any(name string) bool {
	return slices.ContainsFunc(c.ordered(), func(x cellView) bool { _, ok := x.cell.Values[name]; return ok })
}

// list is a table of one row a variant.
type list struct {
	Title, Note string
	grid
}

// variants begins a table of one row a variant.
func (c *comparison) variants(title, note string, heads ...string) list {
	l := list{Title: title, Note: note, grid: grid{Name: title}}
	l.Corner = append(slices.Clone(c.rowAxes), c.colAxes...)
	if len(l.Corner) == 0 {
		l.Corner = []string{""}
	}
	for _, h := range heads {
		l.Heads = append(l.Heads, []string{h})
	}
	return l
}

// row adds the figures of a variant.
func (l *list) row(x cellView, figures ...styled) {
	l.Labels = append(l.Labels, x.levels)
	var cells []gridCell
	for _, f := range figures {
		cells = append(cells, gridCell{Lines: []styled{f}})
	}
	l.Cells = append(l.Cells, cells)
}

// lists are the tables beside the main one: what an operation costs, what is written where, size, money, steadiness.
func (c *comparison) lists() (out []list) {
	of := func(title, note string, names ...string) {
		var ms []Metric
		var heads []string
		for _, n := range names {
			if c.any(n) {
				ms = append(ms, c.metric(n))
				heads = append(heads, c.metric(n).head())
			}
		}
		if len(ms) == 0 {
			return
		}
		l := c.variants(title, note, append(heads, "n")...)
		for _, x := range c.ordered() {
			var row []styled
			n := 0
			for _, m := range ms {
				v, ok := x.cell.Values[m.Name]
				if !ok {
					row = append(row, styled{Text: none})
					continue
				}
				s := styled{Text: m.cell(v.Center)}
				if v.Confidence > 0 {
					s.Range = rangeText(m.cell(v.Lo), m.cell(v.Hi))
				}
				row, n = append(row, s), max(n, v.N)
			}
			if n > 0 {
				l.row(x, append(row, styled{Text: strconv.Itoa(n)})...)
			}
		}
		out = append(out, l)
	}
	shown := func(names ...string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(c.show, n) && c.flat() })
	}
	of("What an operation costs", "", shown("server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op",
		"read_kb_per_op", "write_kb_per_op")...)
	of("Bytes written, layer by layer, and size on disk", "Layers lie over each other: their sum is not what the "+
		"device wrote.",
		"written_bytes_data", "written_bytes_doublewrite", "written_bytes_redo", "written_bytes_binlog",
		"written_bytes_device", "data_bytes")
	for _, f := range []func() (list, bool){c.uncorrected, c.money, c.steady} {
		if l, ok := f(); ok {
			out = append(out, l)
		}
	}
	return out
}

// uncorrected sets the ratios of verdicts beside those that were measured, when there are any that are corrected.
func (c *comparison) uncorrected() (list, bool) {
	if len(c.show) == 0 {
		return list{}, false
	}
	any := false
	l := c.variants("Corrected and as measured", "Variant ÷ baseline. The correction is for the speed of the CPUs; "+
		"the right column has none.", "corrected", "as measured", "n")
	text := func(i stat.Interval) styled {
		ratio, bounds := ratioText(i)
		return styled{Text: ratio, Range: bounds}
	}
	for _, x := range c.ordered() {
		raw, ok := x.cell.Ratios[c.show[0]]
		if v := x.cell.Verdict; v != nil && ok && v.Ratio.N > 0 && !x.invalid() {
			own := styled{Text: "not corrected"}
			if c.corrected(x) {
				any, own = true, text(v.Ratio)
			}
			l.row(x, own, text(raw), styled{Text: strconv.Itoa(raw.N)})
		}
	}
	return l, any
}

func (c *comparison) money() (list, bool) {
	l := c.variants("Money", "", "a month", "a million operations", "n")
	for _, x := range c.ordered() {
		if x.cell.Month == 0 && x.cell.Million == nil {
			continue
		}
		cur := cmp.Or(x.cell.Currency, "$")
		month, million, n := none, styled{Text: none}, ""
		if x.cell.Month > 0 {
			month = amount(cur, x.cell.Month)
		}
		if m := x.cell.Million; m != nil {
			million.Text, n = amount(cur, m.Center), strconv.Itoa(m.N)
			if m.Confidence > 0 {
				million.Range = three(m.Lo) + "–" + three(m.Hi)
			}
		}
		l.row(x, styled{Text: month}, million, styled{Text: n})
	}
	return l, len(l.Labels) > 0
}

// amount writes money: signs before the figure, words behind it.
func amount(currency string, v float64) string {
	if len([]rune(currency)) == 1 {
		return currency + three(v)
	}
	return three(v) + " " + currency
}

func (c *comparison) steady() (list, bool) {
	l := c.variants("Stability by second", "Slow seconds: the 5th percentile as a share of the median of its trial. "+
		"Variation: standard deviation ÷ mean. Stalls: seconds "+
		"below a tenth of the median. Seconds of one trial are not independent: this describes, it proves nothing.",
		"median, operations/s", "slow seconds", "variation", "stalls", "seconds")
	for _, x := range c.ordered() {
		if s := x.cell.Steady; s != nil && s.Seconds > 0 {
			l.row(x, cellOf(three(s.Median), unit.Percent(s.Low), unit.Percent(s.CV), strconv.Itoa(s.Stalls),
				strconv.Itoa(s.Seconds)).Lines...)
		}
	}
	return l, len(l.Labels) > 0
}

const (
	publishedTitle = "Compared with published results"
	publishedNote  = "Published figures are from other hardware and versions: only the direction is comparable."
)

// published sets what others found then beside what was found here.
func (c *comparison) published() table {
	l := table{Left: 4, Head: []string{"for", "published then", "here", "direction"}}
	for _, p := range c.r.Plan.Published {
		var names []string
		for _, a := range c.r.Plan.Axes {
			if v, ok := p.For[a.Name]; ok {
				names = append(names, named([]string{a.Name}, []string{v})...)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(p.For)) { // levels of an axis that the plan does not have
			if !slices.Contains(c.axisNames(), k) {
				names = append(names, p.For[k])
			}
		}
		then := p.Text
		if lo, hi := min(p.Lo, p.Hi), max(p.Lo, p.Hi); hi > 0 {
			then += " (" + factor(cmp.Or(lo, hi))
			if lo > 0 && lo != hi {
				then += "–" + strings.TrimLeft(factor(hi), "×")
			}
			then += ")"
		}
		row := []string{cmp.Or(strings.Join(names, " · "), "the whole table"), then, none, ""}
		if p.Absent != "" {
			row[3] = "not measured here: " + p.Absent
			l.Rows = append(l.Rows, row)
			continue
		}
		row[2], row[3] = c.beside(p.For, p.Lo, p.Hi)
		if v := c.values(p.For); row[2] == none && p.Lo == 0 && p.Hi == 0 && v != "" {
			row[2], row[3] = v, "" // what was published is no ratio either
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

func (c *comparison) axisNames() (out []string) {
	for _, a := range c.r.Plan.Axes {
		out = append(out, a.Name)
	}
	return out
}

// beside tells what was found in the cells that levels name, and whether it goes the way of lo to hi.
func (c *comparison) beside(levels map[string]string, lo, hi float64) (here, direction string) {
	var ratios []stat.Interval
	var cells []cellView
	agree, differ, open := 0, 0, 0
	margin := cmp.Or(c.r.Plan.Trials.Margin, stat.DefaultMargin)
	then := way(lo, hi, margin)
	for _, x := range c.ordered() {
		if x.baseline || !matches(x.variant.Levels, levels) {
			continue
		}
		v := x.cell.Verdict
		i, ok := c.ratio(x, c.main())
		if v == nil || !ok || x.cell.Failed != "" {
			open++
			continue
		}
		ratios, cells = append(ratios, i), append(cells, x)
		now := 0
		switch {
		case v.Result == stat.Unstable:
			open++
			continue
		case v.Result != stat.Same && i.Center > 1:
			now = 1
		case v.Result != stat.Same:
			now = -1
		}
		if now == then {
			agree++
		} else {
			differ++
		}
	}
	switch len(ratios) {
	case 0:
		return none, "not measured here"
	case 1:
		center, bounds := ratioText(ratios[0])
		here = center
		if bounds != "" {
			here += " (" + bounds + ")"
		}
		here += ", n " + strconv.Itoa(ratios[0].N)
	default:
		a, z := 0, 0
		for i, r := range ratios {
			if r.Center < ratios[a].Center {
				a = i
			}
			if r.Center > ratios[z].Center {
				z = i
			}
		}
		low, _ := ratioText(ratios[a])
		high, _ := ratioText(ratios[z])
		here = low + c.apart(cells, a) + " to " + high + c.apart(cells, z) + " in " +
			count(len(ratios), "cell", "cells")
	}
	switch {
	case lo == 0 && hi == 0:
		return here, "" // no ratio was published
	case agree > 0 && differ == 0 && open == 0:
		return here, "agrees"
	case differ > 0 && agree == 0 && open == 0:
		return here, "differs"
	case agree+differ == 0:
		return here, "not decided here"
	default:
		s := "agrees in " + strconv.Itoa(agree) + " of " + count(agree+differ+open, "cell", "cells")
		if differ > 0 {
			s += ", differs in " + strconv.Itoa(differ)
		}
		return here, s
	}
}

// apart names a cell by the level that tells it from the others, when that is one; more would hide the figures between
// them.
func (c *comparison) apart(cells []cellView, at int) string {
	var axes, levels []string
	for _, a := range c.r.Plan.Axes {
		level := cells[at].variant.Levels[a.Name]
		if slices.ContainsFunc(cells, func(x cellView) bool { return x.variant.Levels[a.Name] != level }) {
			axes, levels = append(axes, a.Name), append(levels, level)
		}
	}
	if len(axes) != 1 {
		return ""
	}
	return " at " + strings.Join(named(axes, levels), " · ")
}

// values lists the first value of the cells that levels name, with the levels that tell them apart.
func (c *comparison) values(levels map[string]string) string {
	var cells []cellView
	seen := map[string]map[string]bool{}
	for _, x := range c.ordered() {
		if p := c.parts(x, c.main()); !matches(x.variant.Levels, levels) || p.N == 0 {
			continue
		}
		cells = append(cells, x)
		for axis, level := range x.variant.Levels {
			if seen[axis] == nil {
				seen[axis] = map[string]bool{}
			}
			seen[axis][level] = true
		}
	}
	if len(cells) > 4 { // that is a table of its own, and stands above
		return ""
	}
	var out []string
	for _, x := range cells {
		var name []string
		for _, axis := range c.axisNames() {
			if len(seen[axis]) > 1 {
				name = append(name, x.variant.Levels[axis])
			}
		}
		p := c.parts(x, c.main())
		out = append(out, spaced(strings.Join(append(name, p.Value), " "), nText(p.N)))
	}
	return strings.Join(out, ", ")
}

// way is the direction of a range of ratios: above 1, below, or neither.
func way(lo, hi, margin float64) int {
	if hi == 0 {
		hi = lo
	}
	if lo == 0 {
		lo = hi
	}
	switch mid := (lo + hi) / 2; {
	case mid > 1+margin:
		return 1
	case mid < 1/(1+margin):
		return -1
	default:
		return 0
	}
}

func matches(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// differing writes one difference: each value with the variants that have it, the commonest first.
func (c *comparison) differing(d trial.Difference) (name, text string) {
	by := map[string][]string{}
	keys := make([]string, 0, len(d.Values))
	for k := range d.Values {
		keys = append(keys, k)
	}
	place := map[string]int{}
	for i, x := range c.ordered() {
		place[x.variant.Key] = i
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a, b)) })
	var values []string
	for _, k := range keys {
		v := d.Values[k]
		if by[v] == nil {
			values = append(values, v)
		}
		by[v] = append(by[v], k)
	}
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(len(by[b]), len(by[a])) })
	var texts []string
	for _, v := range values {
		texts = append(texts, cmp.Or(v, "(empty)")+" in "+c.those(by[v], keys))
	}
	text = strings.Join(texts, "; ")
	if d.Varied {
		text = "varied from trial to trial: " + text
	}
	if d.Why != "" {
		text += " (" + d.Why + ")"
	}
	return spaced(d.Group, d.Name), text
}

// differences writes several, by name.
func (c *comparison) differences(ds []trial.Difference) (fs facts) {
	for _, d := range ds {
		name, text := c.differing(d)
		fs = append(fs, Fact{name, text})
	}
	return fs
}

// those names some of the variants of all in short: by the one level that they and no others have, else by their
// labels.
func (c *comparison) those(keys, all []string) string {
	if len(keys) == len(all) && len(all) > 1 {
		return "all variants"
	}
	set, known := map[string]bool{}, map[string]bool{}
	for _, k := range keys {
		set[k] = true
	}
	for _, k := range all {
		known[k] = true
	}
	for _, a := range c.r.Plan.Axes {
		for _, l := range a.Levels {
			n, same := 0, true
			for _, x := range c.byKey {
				if !known[x.variant.Key] {
					continue
				}
				if (x.variant.Levels[a.Name] == l.Name) != set[x.variant.Key] {
					same = false
					break
				}
				if set[x.variant.Key] {
					n++
				}
			}
			if same && n == len(keys) {
				return named([]string{a.Name}, []string{l.Name})[0]
			}
		}
	}
	var names []string
	for _, k := range keys {
		names = append(names, c.name(k))
	}
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + " and " + strconv.Itoa(len(names)-3) + " more"
	}
	return strings.Join(names, ", ")
}

// said are the texts that probes or readings left, each with the variants that agree in it.
func (c *comparison) said() (out []LaidSaid) {
	type id struct{ name, text string }
	by := map[id][]string{}
	var order []id
	var names []string
	with := map[string][]string{} // variants by name of text
	for _, x := range c.ordered() {
		for n := range x.cell.Texts {
			if slices.Contains(c.texts, n) {
				continue // has a table
			}
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	for _, n := range names {
		for _, x := range c.ordered() {
			t, ok := x.cell.Texts[n]
			if !ok || strings.TrimSpace(t) == "" {
				continue
			}
			k := id{n, t}
			with[n] = append(with[n], x.variant.Key)
			if by[k] == nil {
				order = append(order, k)
			}
			by[k] = append(by[k], x.variant.Key)
		}
	}
	for _, k := range order {
		out = append(out, LaidSaid{k.name, c.those(by[k], with[k.name]), k.text})
	}
	return out
}
