package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// grid is a table whose cells have several lines. Columns may be shown some at a time, the labels always.
type grid struct {
	Name   string       // what a screen reader calls it
	Note   string       // below it
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

func cellOf(texts ...string) gridCell {
	return gridCell{Lines: each(texts, func(t string) styled { return styled{Text: t} })}
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

// orBlank are labels, one without text where there are none.
func orBlank(labels []string) []string {
	if len(labels) == 0 {
		return []string{""}
	}
	return labels
}

// table lays cells out in the rows and columns of the plan.
func (c *comparison) table(f func(cellView) gridCell) grid {
	return grid{
		Corner: orBlank(c.rowAxes), Labels: each(c.rows, orBlank),
		Heads: c.cols,
		Cells: each(c.rows, func(row []string) []gridCell {
			return each(c.cols, func(col []string) gridCell { return f(c.at(row, col)) })
		}),
	}
}

// flatTable is for a plan without columns: what its cells tell takes them.
func (c *comparison) flatTable(f func(cellView) []gridCell, heads ...string) grid {
	g := c.table(func(cellView) gridCell { return gridCell{} })
	g.Heads = single(heads)
	for i, row := range c.rows {
		g.Cells[i] = f(c.at(row, c.cols[0]))
	}
	return g
}

// mainTable is the complete table of the first value: value, its interval, ratio, its interval, one below the other or,
// in a plan without columns, side by side.
func mainTable(c *comparison) grid {
	reach := c.reach()
	ratio := func(x cellView, p LaidFigure) gridCell {
		cell := gridCell{Class: cellClass(x, p)}
		if s := cmp.Or(p.Ratio, p.Note); s != "" {
			cell.Lines = []styled{{Kind: "r", Sign: p.Mark, Text: s}}
		}
		if p.Ratio != "" {
			cell.Glyph = glyphOf(c, x, reach)
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

// furtherTables are the compact tables of the other values, and those of values that are texts: two lines a cell, the
// number of trials only where it is not the usual one.
func furtherTables(c *comparison) (out []block) {
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
				cells = append(cells, compactCell(c, x, name, n))
			}
			return cells
		}, heads...))
	default:
		for _, name := range others {
			n := c.usual(name)
			g := c.table(func(x cellView) gridCell { return compactCell(c, x, name, n) })
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

func compactCell(c *comparison, x cellView, name string, usual int) gridCell {
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

func glyphOf(c *comparison, x cellView, reach float64) *glyph {
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

// capital makes the beginning of a sentence that of a title.
func capital(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

// usual is the number of trials that most cells of the values have.
func (c *comparison) usual(names ...string) (best int) {
	times := map[int]int{}
	for _, x := range c.byKey {
		for _, name := range names {
			times[x.cell.Values[name].N]++
		}
	}
	delete(times, 0)
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

// variantGrid begins a table of one row a variant.
func variantGrid(c *comparison, title, note string, heads ...string) grid {
	return grid{Name: title, Note: note, Corner: orBlank(slices.Concat(c.rowAxes, c.colAxes)), Heads: single(heads)}
}

// single are heads of one line each.
func single(heads []string) [][]string {
	return each(heads, func(h string) []string { return []string{h} })
}

// row adds the figures of a variant.
func (g *grid) row(x cellView, figures ...styled) {
	g.Labels = append(g.Labels, x.levels)
	g.Cells = append(g.Cells, each(figures, func(f styled) gridCell { return gridCell{Lines: []styled{f}} }))
}

// listTables are the tables beside the main one: what an operation costs, what is written where, size, money,
// steadiness.
func listTables(c *comparison) []grid {
	costs := []string{"server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op", "read_kb_per_op", "write_kb_per_op"}
	if c.flat() { // has those already that it shows
		costs = slices.DeleteFunc(costs, func(n string) bool { return slices.Contains(c.show, n) })
	}
	return slices.DeleteFunc([]grid{
		valueTable(c, "What an operation costs", "", costs...),
		valueTable(c, "Bytes written, layer by layer, and size on disk", "Layers lie over each other: their sum is "+
			"not what the device wrote.", "written_bytes_data", "written_bytes_doublewrite", "written_bytes_redo",
			"written_bytes_binlog", "written_bytes_device", "data_bytes"),
		uncorrectedTable(c), moneyTable(c), steadyTable(c),
	}, grid.empty)
}

// valueTable has the values of some names that are measured.
func valueTable(c *comparison, title, note string, names ...string) grid {
	names = slices.DeleteFunc(names, func(n string) bool { return !c.any(n) })
	g := variantGrid(c, title, note, append(each(names, func(n string) string { return c.metric(n).head() }), "n")...)
	for _, x := range c.ordered() {
		most := 0
		row := each(names, func(name string) styled {
			p := c.parts(x, name)
			most = max(most, p.N)
			return styled{Text: p.Value, Range: p.Interval}
		})
		if most > 0 {
			g.row(x, append(row, styled{Text: strconv.Itoa(most)})...)
		}
	}
	return g
}

// uncorrectedTable sets the ratios of verdicts beside those that were measured, when there are any that are corrected.
func uncorrectedTable(c *comparison) grid {
	any := false
	g := variantGrid(c, "Corrected and as measured", "Variant ÷ baseline. The correction is for the speed of the "+
		"CPUs; the right column has none.", "corrected", "as measured", "n")
	text := func(i stat.Interval) styled {
		ratio, bounds := ratioText(i)
		return styled{Text: ratio, Range: bounds}
	}
	for _, x := range c.ordered() {
		raw, ok := x.cell.Ratios[c.main()]
		if v := x.cell.Verdict; v != nil && ok && v.Ratio.N > 0 && !x.invalid() {
			own := styled{Text: "not corrected"}
			if corrected(c.r, x) {
				any, own = true, text(v.Ratio)
			}
			g.row(x, own, text(raw), styled{Text: strconv.Itoa(raw.N)})
		}
	}
	if !any {
		return grid{}
	}
	return g
}

func moneyTable(c *comparison) grid {
	g := variantGrid(c, "Money", "", "a month", "a million operations", "n")
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
		g.row(x, styled{Text: month}, million, styled{Text: n})
	}
	return g
}

// amount writes money: signs before the figure, words behind it.
func amount(currency string, v float64) string {
	if len([]rune(currency)) == 1 {
		return currency + three(v)
	}
	return three(v) + " " + currency
}

func steadyTable(c *comparison) grid {
	g := variantGrid(c, "Stability by second", "Slow seconds: the 5th percentile as a share of the median of its "+
		"trial. Variation: standard deviation ÷ mean. Stalls: seconds below a tenth of the median. "+
		"Seconds of one trial are not independent: this describes, it proves nothing.",
		"median, operations/s", "slow seconds", "variation", "stalls", "seconds")
	for _, x := range c.ordered() {
		if s := x.cell.Steady; s != nil && s.Seconds > 0 {
			g.row(x, cellOf(three(s.Median), unit.Percent(s.Low), unit.Percent(s.CV), strconv.Itoa(s.Stalls),
				strconv.Itoa(s.Seconds)).Lines...)
		}
	}
	return g
}

const (
	publishedTitle = "Compared with published results"
	publishedNote  = "Published figures are from other hardware and versions: only the direction is comparable."
)

// publishedTable sets what others found then beside what was found here.
func publishedTable(c *comparison) table {
	l := table{Left: 4, Head: []string{"for", "published then", "here", "direction"}}
	for _, p := range c.r.Plan.Published {
		var names []string
		for _, a := range axisNames(c.r) {
			if v, ok := p.For[a]; ok {
				names = append(names, named([]string{a}, []string{v})...)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(p.For)) { // levels of an axis that the plan does not have
			if !slices.Contains(axisNames(c.r), k) {
				names = append(names, p.For[k])
			}
		}
		then, here, direction := p.Text, none, "not measured here: "+p.Absent
		if lo, hi := min(p.Lo, p.Hi), max(p.Lo, p.Hi); hi > 0 {
			then += " (" + factor(cmp.Or(lo, hi))
			if lo > 0 && lo != hi {
				then += "–" + strings.TrimLeft(factor(hi), "×")
			}
			then += ")"
		}
		if p.Absent == "" {
			here, direction = besidePublished(c, p.For, p.Lo, p.Hi)
			if v := publishedValues(c, p.For); here == none && p.Lo == 0 && p.Hi == 0 && v != "" {
				here, direction = v, "" // what was published is no ratio either
			}
		}
		l.Rows = append(l.Rows, []string{cmp.Or(strings.Join(names, " · "), "the whole table"), then, here, direction})
	}
	return l
}

func axisNames(r *trial.Result) []string {
	return each(r.Plan.Axes, func(a plan.Axis) string { return a.Name })
}

// besidePublished tells what was found in the cells that levels name, and whether it goes the way of lo to hi.
func besidePublished(c *comparison, levels map[string]string, lo, hi float64) (here, direction string) {
	type found struct {
		stat.Interval
		x cellView
	}
	var all []found
	agree, differ, open := 0, 0, 0
	then := way(lo, hi, cmp.Or(c.r.Plan.Trials.Margin, stat.DefaultMargin))
	for _, x := range c.ordered() {
		if x.baseline || !matches(x.variant.Levels, levels) {
			continue
		}
		i, ok := c.ratio(x, c.main())
		if x.cell.Verdict == nil || !ok || x.cell.Failed != "" {
			open++
			continue
		}
		all = append(all, found{i, x})
		now := -1
		switch result := x.cell.Verdict.Result; {
		case result == stat.Unstable:
			open++
			continue
		case result == stat.Same:
			now = 0
		case i.Center > 1:
			now = 1
		}
		if now == then {
			agree++
		} else {
			differ++
		}
	}
	switch len(all) {
	case 0:
		return none, "not measured here"
	case 1:
		center, bounds := ratioText(all[0].Interval)
		if bounds != "" {
			center += " (" + bounds + ")"
		}
		here = center + ", " + nText(all[0].N)
	default:
		byCenter := func(a, b found) int { return cmp.Compare(a.Center, b.Center) }
		cells := each(all, func(f found) cellView { return f.x })
		text := func(f found) string {
			ratio, _ := ratioText(f.Interval)
			return ratio + tellApart(c.r, cells, f.x)
		}
		here = text(slices.MinFunc(all, byCenter)) + " to " + text(slices.MaxFunc(all, byCenter)) + " in " +
			count(len(all), "cell", "cells")
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

// varying are the axes in whose levels the cells differ.
func varying(r *trial.Result, cells []cellView) []string {
	return slices.DeleteFunc(axisNames(r), func(a string) bool {
		return !slices.ContainsFunc(cells, func(x cellView) bool {
			return x.variant.Levels[a] != cells[0].variant.Levels[a]
		})
	})
}

// tellApart names a cell by the level that tells it from the others, when that is one; more would hide the figures
// between them.
func tellApart(r *trial.Result, cells []cellView, x cellView) string {
	axes := varying(r, cells)
	if len(axes) != 1 {
		return ""
	}
	return " at " + named(axes, []string{x.variant.Levels[axes[0]]})[0]
}

// publishedValues lists the first value of the cells that levels name, with the levels that tell them apart.
func publishedValues(c *comparison, levels map[string]string) string {
	cells := slices.DeleteFunc(c.ordered(), func(x cellView) bool {
		return !matches(x.variant.Levels, levels) || c.parts(x, c.main()).N == 0
	})
	if len(cells) > 4 { // that is a table of its own, and stands above
		return ""
	}
	axes := varying(c.r, cells)
	return strings.Join(each(cells, func(x cellView) string {
		p := c.parts(x, c.main())
		name := each(axes, func(a string) string { return x.variant.Levels[a] })
		return spaced(strings.Join(append(name, p.Value), " "), nText(p.N))
	}), ", ")
}

// way is the direction of a range of ratios: above 1, below, or neither.
func way(lo, hi, margin float64) int {
	switch mid := (cmp.Or(lo, hi) + cmp.Or(hi, lo)) / 2; {
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

// groups are values by what they share, in the order in which that came.
type groups[K comparable] struct {
	order []K
	by    map[K][]string
}

func (g *groups[K]) add(k K, v string) {
	if g.by == nil {
		g.by = map[K][]string{}
	}
	if g.by[k] == nil {
		g.order = append(g.order, k)
	}
	g.by[k] = append(g.by[k], v)
}

// differencesOf writes differences, by name: each value with the variants that have it, the commonest first.
func differencesOf(c *comparison, ds []trial.Difference) facts {
	place := map[string]int{}
	for i, x := range c.ordered() {
		place[x.variant.Key] = i
	}
	return each(ds, func(d trial.Difference) Fact {
		keys := slices.SortedFunc(maps.Keys(d.Values), func(a, b string) int {
			return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a, b))
		})
		var g groups[string]
		for _, k := range keys {
			g.add(d.Values[k], k)
		}
		slices.SortStableFunc(g.order, func(a, b string) int { return cmp.Compare(len(g.by[b]), len(g.by[a])) })
		text := strings.Join(each(g.order, func(v string) string {
			return cmp.Or(v, "(empty)") + " in " + c.those(g.by[v], keys)
		}), "; ")
		if d.Varied {
			text = "varied from trial to trial: " + text
		}
		if d.Why != "" {
			text += " (" + d.Why + ")"
		}
		return Fact{spaced(d.Group, d.Name), text}
	})
}

// those names some of the variants of all in short: by the one level that they and no others have, else by their
// labels.
func (c *comparison) those(keys, all []string) string {
	if len(keys) == len(all) && len(all) > 1 {
		return "all variants"
	}
	for _, a := range c.r.Plan.Axes {
		for _, l := range a.Levels {
			if !slices.ContainsFunc(all, func(k string) bool {
				return (c.byKey[k].variant.Levels[a.Name] == l.Name) != slices.Contains(keys, k)
			}) {
				return named([]string{a.Name}, []string{l.Name})[0]
			}
		}
	}
	names := each(keys, c.name)
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + " and " + strconv.Itoa(len(names)-3) + " more"
	}
	return strings.Join(names, ", ")
}

// saidOf are the texts that probes or readings left, each with the variants that agree in it.
func saidOf(c *comparison) (out []LaidSaid) {
	names := map[string]bool{}
	for _, x := range c.byKey {
		for n := range x.cell.Texts {
			names[n] = !slices.Contains(c.texts, n) // which have a table
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		var with []string
		var g groups[string]
		for _, x := range c.ordered() {
			if t := x.cell.Texts[n]; names[n] && strings.TrimSpace(t) != "" {
				with = append(with, x.variant.Key)
				g.add(t, x.variant.Key)
			}
		}
		for _, t := range g.order {
			out = append(out, LaidSaid{n, c.those(g.by[t], with), t})
		}
	}
	return out
}
