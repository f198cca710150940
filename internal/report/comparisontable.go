package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dyno/internal/stat"
	"dyno/internal/trial"
	"dyno/internal/unit"
)

// grid is a table whose cells have several lines, for all renderers. Columns may be shown some at a time, the labels always.
type grid struct {
	Corner []string     // heads of the labels: the axes of the rows
	Heads  [][]string   // of each column, one line per axis
	Labels [][]string   // of each row
	Cells  [][][]styled // by row and column: lines
}

// styled is a line of a cell.
type styled struct {
	Text  string
	Style string // of the terminal
	Range string // stands behind the text in brackets, or smaller below it
	Tail  string // behind all that
}

func (s styled) full() string { return spaced(around(s.Text, s.Range), s.Tail) }

func lines1(texts ...string) (out []styled) {
	for _, t := range texts {
		out = append(out, styled{Text: t})
	}
	return out
}

func signStyle(m sign) string {
	switch m.Word {
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

// withN puts the number of samples behind an interval.
func withN(s string, n int) string {
	if n == 0 {
		return s
	}
	return spaced(s, "n "+strconv.Itoa(n))
}

// ratioLine is the second half of a cell in one line: "▼ ×0.94", "baseline".
func (p parts) ratioLine() string {
	switch {
	case p.Ratio != "":
		return spaced(p.Mark.Sign, p.Ratio)
	case p.Note != "":
		return spaced(p.Mark.Sign, p.Note)
	default:
		return ""
	}
}

// boundsLine is what stands under the ratio.
func (p parts) boundsLine() string {
	if p.Ratio == "" {
		return ""
	}
	return withN(p.Bounds, p.RatioN)
}

// stacked is the complete table of the first value: value, its interval, ratio, its interval, one below the other.
func (c *comparison) stacked() grid {
	g := grid{Corner: c.corner(), Labels: c.labels()}
	for _, col := range c.cols {
		g.Heads = append(g.Heads, col.levels)
	}
	for _, row := range c.rows {
		var cells [][]styled
		for _, col := range c.cols {
			p := c.parts(c.at(row, col), c.main())
			var ls []styled
			if p.Value != none || p.Note == "" {
				ls = append(ls, styled{Text: p.Value, Style: bold})
			}
			if p.N > 0 {
				ls = append(ls, styled{Text: withN(p.Interval, p.N), Style: dim})
			}
			if s := p.ratioLine(); s != "" {
				style := signStyle(p.Mark)
				if p.Mark.Word == "" {
					style = dim
				}
				ls = append(ls, styled{Text: s, Style: style})
			}
			if s := p.boundsLine(); s != "" {
				ls = append(ls, styled{Text: s, Style: dim})
			}
			cells = append(cells, ls)
		}
		g.Cells = append(g.Cells, cells)
	}
	return g
}

// spread is the complete table of the first value when its cells stand below each other: the parts take the columns.
func (c *comparison) spread() grid {
	g := grid{Corner: c.corner(), Labels: c.labels(), Heads: [][]string{{c.metric(c.main()).Title}, {"interval"}, {"n"}}}
	compared := c.compared() || len(c.used()) > 0
	if compared {
		g.Heads = append(g.Heads, []string{"ratio"}, []string{"interval"}, []string{"n"})
	}
	for _, row := range c.rows {
		for _, col := range c.cols {
			p := c.parts(c.at(row, col), c.main())
			num := func(n int) string {
				if n == 0 {
					return ""
				}
				return strconv.Itoa(n)
			}
			cells := [][]styled{{{Text: p.Value, Style: bold}}, {{Text: p.Interval, Style: dim}}, {{Text: num(p.N), Style: dim}}}
			if compared {
				cells = append(cells, [][]styled{{{Text: p.ratioLine(), Style: signStyle(p.Mark)}}, {{Text: p.Bounds, Style: dim}}, {{Text: num(p.RatioN), Style: dim}}}...)
			} else if p.Note != "" && p.Value == none {
				cells[0] = lines1(p.Note)
			}
			g.Cells = append(g.Cells, cells)
		}
	}
	return g
}

// further is the compact table of another value: two lines a cell, the number of trials only where it is not the usual one.
func (c *comparison) further(name string) (g grid, usual int) {
	g = grid{Corner: c.corner(), Labels: c.labels()}
	usual = c.usual(name)
	for _, col := range c.cols {
		g.Heads = append(g.Heads, col.levels)
	}
	for _, row := range c.rows {
		var cells [][]styled
		for _, col := range c.cols {
			cells = append(cells, c.compact(c.at(row, col), name, usual))
		}
		g.Cells = append(g.Cells, cells)
	}
	return g, usual
}

// furtherFlat is the table of all other values side by side.
func (c *comparison) furtherFlat() (g grid, usual int) {
	g = grid{Corner: c.corner(), Labels: c.labels()}
	usual = c.usual(c.show[1:]...)
	for _, name := range c.show[1:] {
		g.Heads = append(g.Heads, []string{c.metric(name).head()})
	}
	for _, row := range c.rows {
		for _, col := range c.cols {
			var cells [][]styled
			for _, name := range c.show[1:] {
				cells = append(cells, c.compact(c.at(row, col), name, usual))
			}
			g.Cells = append(g.Cells, cells)
		}
	}
	return g, usual
}

// textGrid is the table of a value that is a text.
func (c *comparison) textGrid(name string) grid {
	g := grid{Corner: c.corner(), Labels: c.labels()}
	for _, col := range c.cols {
		g.Heads = append(g.Heads, col.levels)
	}
	if c.flat() {
		g.Heads = [][]string{{c.metric(name).Title}}
	}
	for _, row := range c.rows {
		var line [][]styled
		for _, col := range c.cols {
			x := c.at(row, col)
			p := c.parts(x, name)
			line = append(line, lines1(cmp.Or(x.cell.Texts[name], p.Note, p.Value)))
		}
		g.Cells = append(g.Cells, line)
	}
	return g
}

func (c *comparison) compact(x cellView, name string, usual int) []styled {
	p := c.parts(x, name)
	if !x.there || p.N == 0 {
		if p.Note != "" && p.Note != "baseline" {
			return []styled{{Text: p.Note, Style: dim}}
		}
		return lines1(p.Value)
	}
	n := func(n int) string {
		if n == usual {
			return ""
		}
		return nText(n)
	}
	out := []styled{{Text: p.Value, Range: p.Interval, Tail: n(p.N)}}
	if p.Ratio != "" {
		out = append(out, styled{Text: spaced(aroundRatio(p), n(p.RatioN)), Style: dim})
	} else if p.Note != "" {
		out = append(out, styled{Text: p.Note, Style: dim})
	}
	return out
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

// aroundRatio is a ratio with its bounds.
func aroundRatio(p parts) string {
	if p.Bounds == "" || p.Bounds == p.Ratio[len("×"):]+"–"+p.Ratio[len("×"):] {
		return p.Ratio
	}
	return p.Ratio + " (" + p.Bounds + ")"
}

// list is a table of one row a variant.
type list struct {
	Title, Note string
	grid
}

// variants begins a table of one row a variant.
func (c *comparison) variants(title, note string, heads ...string) list {
	l := list{Title: title, Note: note}
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
	var cells [][]styled
	for _, f := range figures {
		cells = append(cells, []styled{f})
	}
	l.Cells = append(l.Cells, cells)
}

// lists are the tables beside the main one: what an operation costs, what is written where, size, money, steadiness.
func (c *comparison) lists() (out []list) {
	of := func(title, note string, names ...string) {
		var ms []metricInfo
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
	of("What an operation costs", "", shown("server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op", "read_kb_per_op", "write_kb_per_op")...)
	of("Bytes written, layer by layer, and size on disk", "Layers lie over each other: their sum is not what the device wrote.",
		"written_bytes_data", "written_bytes_doublewrite", "written_bytes_redo", "written_bytes_binlog", "written_bytes_device", "data_bytes")
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
	l := c.variants("Corrected and as measured", "Variant ÷ baseline. The correction is for the speed of the CPUs; the right column has none.", "corrected", "as measured", "n")
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
	l := c.variants("How steady the seconds are", "Slow seconds: the 5th percentile as a share of the median of its trial. Variation: standard deviation ÷ mean. Stalls: seconds "+
		"below a tenth of the median. Seconds of one trial are not independent: this describes, it proves nothing.",
		"median, operations/s", "slow seconds", "variation", "stalls", "seconds")
	for _, x := range c.ordered() {
		if s := x.cell.Steady; s != nil && s.Seconds > 0 {
			l.row(x, lines1(three(s.Median), unit.Percent(s.Low), unit.Percent(s.CV), strconv.Itoa(s.Stalls), strconv.Itoa(s.Seconds))...)
		}
	}
	return l, len(l.Labels) > 0
}

const (
	publishedTitle = "Beside what was published"
	publishedNote  = "Published figures were found then, on other hardware: only the direction is comparable."
)

// published sets what others found then beside what was found here.
func (c *comparison) published() (table, bool) {
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
		if v := c.values(p.For); row[2] == none && p.Lo == 0 && p.Hi == 0 && v != "" { // what was published is no ratio either
			row[2], row[3] = v, ""
		}
		l.Rows = append(l.Rows, row)
	}
	return l, len(l.Rows) > 0
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
		here = low + c.apart(cells, a) + " to " + high + c.apart(cells, z) + " in " + count(len(ratios), "cell", "cells")
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

// apart names a cell by the level that tells it from the others, when that is one; more would hide the figures between them.
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

// those names some of the variants of all in short: by the one level that they and no others have, else by their labels.
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

// said is one text that probes or readings left, with the variants that agree in it.
type said struct {
	Name string // "plan"
	For  string
	Text string
}

func (c *comparison) said() (out []said) {
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
		out = append(out, said{k.name, c.those(by[k], with[k.name]), k.text})
	}
	return out
}
