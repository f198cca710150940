package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// sweep is a picture over a numeric axis: a line with its band for each combination of the other axes.
type sweep struct {
	Title   string
	Axis    string // of x
	Unit    string // of y, in words
	Xs      []float64
	Names   []string // of the xs
	Lines   []sweepLine
	Ratio   bool    // y is a ratio to the baseline
	Times   float64 // what Unit counts in y: 100 where a share is told in percent
	Margin  float64
	Value   func(float64) string
	Missing []string // what has no point, and why
}

type sweepLine struct {
	Name   string
	Style  int
	Points []sweepPoint
}

type sweepPoint struct {
	I    int // of Xs
	At   stat.Interval
	Text string // for a pointer
	Fail string // instead of a value
}

// numeric returns the first axis of the table that is one of numbers, its levels rising.
func (c *comparison) numeric() (plan.Axis, bool) {
	for _, name := range append(slices.Clone(c.rowAxes), c.colAxes...) {
		for _, a := range c.r.Plan.Axes {
			if a.Name != name || !a.Numeric || len(a.Levels) < 3 {
				continue
			}
			a.Levels = slices.Clone(a.Levels)
			slices.SortStableFunc(a.Levels, func(x, y plan.Level) int { return cmp.Compare(x.Numeric, y.Numeric) })
			ok := true
			for i := range a.Levels {
				ok = ok && (i == 0 || a.Levels[i].Numeric > a.Levels[i-1].Numeric)
			}
			if ok {
				return a, true
			}
		}
	}
	return plan.Axis{}, false
}

// sweeps are the curves of the first value over the numeric axis and, where each of its points has a baseline of its
// own, those of the ratio.
func (c *comparison) sweeps() (out []sweep) {
	axis, ok := c.numeric()
	if !ok || c.main() == "" {
		return nil
	}
	m := c.metric(c.main())
	var others []string
	for _, n := range append(slices.Clone(c.rowAxes), c.colAxes...) {
		if n != axis.Name {
			others = append(others, n)
		}
	}
	base := sweep{Axis: axis.Name, Times: 1}
	for _, l := range axis.Levels {
		base.Xs, base.Names = append(base.Xs, l.Numeric), append(base.Names, l.Name)
	}
	index := map[string]int{}
	for i, n := range base.Names {
		index[n] = i
	}
	lines := map[string]*sweepLine{}
	ratios := map[string]*sweepLine{}
	var order []string
	firsts := map[string]string{} // level of the first of the other axes, by line
	for _, x := range c.sorted(others) {
		var levels []string
		for _, o := range others {
			levels = append(levels, x.variant.Levels[o])
		}
		k := comboKey(levels)
		if lines[k] == nil {
			name := combo{levels: levels}.label(others)
			if name == "" {
				name = m.Title
			}
			lines[k], ratios[k] = &sweepLine{Name: name}, &sweepLine{Name: name}
			order = append(order, k)
			if len(levels) > 0 {
				firsts[k] = levels[0]
			}
		}
		i := index[x.variant.Levels[axis.Name]]
		p := c.parts(x, c.main())
		at := sweepPoint{I: i, Text: x.label + ": " + m.full(x.cell.Values[c.main()].Center)}
		if v, ok := x.cell.Values[c.main()]; ok && v.N > 0 {
			at.At = v
			if p.Interval != "" {
				at.Text += " (" + p.Interval + "), n " + strconv.Itoa(v.N)
			}
		} else {
			at.Fail = x.label + ": " + cmp.Or(x.cell.Failed, p.Note, "not measured")
			at.Text = at.Fail
		}
		lines[k].Points = append(lines[k].Points, at)
		if p.Of != nil {
			ratios[k].Points = append(ratios[k].Points, sweepPoint{I: i, At: *p.Of, Text: x.label + ": " + ratioDetail(p)})
		}
	}
	for _, k := range order {
		for _, l := range []*sweepLine{lines[k], ratios[k]} {
			slices.SortStableFunc(l.Points, func(a, b sweepPoint) int { return cmp.Compare(a.I, b.I) })
		}
	}
	for i, k := range order { // a line keeps its style in all pictures
		lines[k].Style, ratios[k].Style = i, i
	}
	groups := [][]string{order}
	if len(order) > lineStyles && len(others) > 1 {
		groups = nil
		var names []string
		for _, k := range order {
			i := slices.Index(names, firsts[k])
			if i < 0 {
				names = append(names, firsts[k])
				groups = append(groups, nil)
				i = len(names) - 1
			}
			groups[i] = append(groups[i], k)
		}
	}
	for _, g := range groups {
		for part := range slices.Chunk(g, lineStyles) {
			s := base
			s.Title, s.Unit, s.Times = capital(m.axis())+" over "+axis.Name, m.axis(), m.times()
			s.Value = func(v float64) string { return bare(v*m.times(), m.Unit) }
			for n, k := range part {
				if len(groups) > 1 || len(g) > lineStyles {
					lines[k].Style = n
				}
				s.Lines = append(s.Lines, *lines[k])
				for _, p := range lines[k].Points {
					if p.Fail != "" {
						s.Missing = append(s.Missing, p.Fail)
					}
				}
			}
			out = append(out, s)
		}
	}
	// Ratios, when each point has a baseline at the same place.
	along := false
	for _, x := range c.ordered() {
		b, ok := c.byKey[x.variant.Baseline]
		along = along || ok && b.variant.Levels[axis.Name] != x.variant.Levels[axis.Name]
	}
	if !along {
		for _, g := range groups {
			for part := range slices.Chunk(g, lineStyles) {
				s := base
				s.Title, s.Unit, s.Ratio, s.Value = "Ratio to the baseline over "+axis.Name, "ratio of "+m.Title+
					" to the baseline", true, unit.Ratio
				s.Margin = c.r.Plan.Trials.Margin
				for _, k := range part {
					if len(ratios[k].Points) > 0 {
						ratios[k].Style = lines[k].Style
						s.Lines = append(s.Lines, *ratios[k])
					}
				}
				if len(s.Lines) > 0 {
					out = append(out, s)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(s sweep) bool { return s.points() < 2 })
}

// sorted are the cells in the order of the named axes.
func (c *comparison) sorted(axes []string) []cellView {
	out := c.ordered()
	at := func(axis, level string) int {
		for _, a := range c.r.Plan.Axes {
			if a.Name == axis {
				return slices.IndexFunc(a.Levels, func(l plan.Level) bool { return l.Name == level })
			}
		}
		return -1
	}
	slices.SortStableFunc(out, func(a, b cellView) int {
		for _, x := range axes {
			if d := at(x, a.variant.Levels[x]) - at(x, b.variant.Levels[x]); d != 0 {
				return d
			}
		}
		return 0
	})
	return out
}

func (s sweep) points() (n int) {
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if p.At.N > 0 {
				n++
			}
		}
	}
	return n
}

// doubling reports whether the levels are spread so that equal distances should be equal factors.
func (s sweep) doubling() bool {
	for i, x := range s.Xs {
		if x <= 0 || i > 0 && x/s.Xs[i-1] < 1.4 {
			return false
		}
	}
	return true
}

func (s sweep) keys() (out []key) {
	for _, l := range s.Lines {
		out = append(out, key{lineClass(l.Style), l.Name, "line"})
	}
	return out
}

func (s sweep) label() string {
	t := s.Title
	for _, l := range s.Lines {
		var ps []string
		for _, p := range l.Points {
			v := "not measured"
			if p.At.N > 0 {
				v = s.Value(p.At.Center)
			}
			ps = append(ps, s.Axis+" "+s.Names[p.I]+" "+v)
		}
		t += "; " + l.Name + ": " + strings.Join(ps, ", ")
	}
	return t
}

// figures is the text alternative of the picture.
func (s sweep) figures() table {
	t := table{Head: []string{s.Axis}, Left: 1}
	for _, l := range s.Lines {
		t.Head = append(t.Head, l.Name)
	}
	for i, n := range s.Names {
		row := []string{n}
		for _, l := range s.Lines {
			v := none
			for _, p := range l.Points {
				if p.I == i && p.At.N > 0 {
					v = s.Value(p.At.Center)
					if p.At.Confidence > 0 {
						v += " (" + strings.TrimPrefix(s.Value(p.At.Lo), "×") + "–" +
							strings.TrimPrefix(s.Value(p.At.Hi), "×") + "), n " + strconv.Itoa(p.At.N)
					}
				}
			}
			row = append(row, v)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// draw lays the curves out.
func (s sweep) draw(id string, z size) svg {
	g := newSVG(id, z)
	g.Label = s.label()
	var vs []float64
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if p.At.N > 0 {
				vs = append(vs, p.At.Center, p.At.Lo, p.At.Hi)
			}
		}
	}
	vs = slices.DeleteFunc(vs, func(v float64) bool { return v > 1e15 })
	sc := scaleFor(vs)
	if s.Ratio {
		sc = ratioScale(append(vs, 1, 1+s.Margin, 1/(1+s.Margin)))
	}
	left := 0.0
	for _, v := range sc.ticks() {
		left = max(left, labelWidth(s.tick(v, sc)))
	}
	left = math.Ceil(left + 16)
	right, top := z.Width-18, 28.0
	bottom := top + z.Height + 10
	g.plot(left, right, top, bottom, 44)
	log := s.doubling()
	tx := func(v float64) float64 {
		if log {
			return math.Log(v)
		}
		return v
	}
	a, b := tx(s.Xs[0]), tx(s.Xs[len(s.Xs)-1])
	x := func(i int) float64 { return left + 10 + (tx(s.Xs[i])-a)/(b-a)*(right-left-20) }
	y := func(v float64) float64 { return bottom - max(0, min(1, sc.at(v)))*(bottom-top) }
	g.text(2, font+1, "", "unit", clipTo(sc.named(s.Unit), z.Width-4), "")
	if hi, lo := y(1+s.Margin), y(1/(1+s.Margin)); s.Ratio && s.Margin > 0 {
		g.box(left, hi, right-left, lo-hi, "b-same", "", sameWithin(s.Margin))
	}
	for _, v := range sc.ticks() {
		class := "grid"
		switch {
		case s.Ratio && math.Abs(v-1) < 1e-9:
			class = "one"
		case !s.Ratio && v == sc.lo && !sc.log:
			class = "axis"
		}
		g.across(y(v), class, "")
		g.text(left-8, y(v)+4, "end", "", s.tick(v, sc), "")
	}
	g.across(bottom, "axis", "")
	last := -1e9
	for i, n := range s.Names {
		n = clip(n, 12)
		w := labelWidth(n)
		g.down(x(i), bottom, bottom+4, "axis", "")
		at := max(w/2, min(x(i), z.Width-w/2))
		if at-w/2 > last+5 {
			g.text(at, bottom+18, "middle", "", n, "")
			last = at + w/2
		}
	}
	t := s.Axis
	if log {
		t += " (equal distances are equal factors)"
	}
	g.text((left+right)/2, bottom+37, "middle", "unit", clipTo(t, right-left), "")
	shown := func(p sweepPoint) bool { return p.At.N > 0 }
	// Bands first, then lines and points: none hides another's centre.
	for _, l := range s.Lines {
		for run := range runs(l.Points, shown) {
			var up, down []float64
			for _, p := range run {
				if p.At.Confidence > 0 {
					up = append(up, x(p.I), y(p.At.Hi))
					down = append([]float64{x(p.I), y(p.At.Lo)}, down...)
				}
			}
			if len(run) > 1 && len(up) > 2 {
				g.path(append(up, down...), "Z", "area "+lineClass(l.Style), l.Name+", interval")
			}
		}
	}
	for _, l := range s.Lines {
		for run := range runs(l.Points, shown) {
			var xy []float64
			for _, p := range run {
				xy = append(xy, x(p.I), y(p.At.Center))
			}
			if len(run) > 1 {
				g.path(xy, "", "line "+lineClass(l.Style), l.Name)
			}
		}
	}
	fails := map[int]float64{}
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if !shown(p) {
				g.text(x(p.I)+11*fails[p.I], bottom-5, "middle", "fail "+lineClass(l.Style), signFailed, p.Text)
				fails[p.I]++
				continue
			}
			if p.At.Confidence > 0 {
				g.down(x(p.I), y(p.At.Lo), y(p.At.Hi), "whisker "+lineClass(l.Style), p.Text)
			}
			g.dot(x(p.I), y(p.At.Center), 3.6, "dot "+lineClass(l.Style), p.Text)
		}
	}
	return *g
}

// sameWithin is the title of a stripe in which ratios count as the same.
func sameWithin(margin float64) string { return "counts as the same: within ±" + unit.Percent(margin) }

func (s sweep) tick(v float64, sc scale) string {
	if s.Ratio {
		return ratioTick(v, sc)
	}
	return s.Value(v)
}

func ratioTick(v float64, sc scale) string {
	switch {
	case sc.log && v < 1:
		return "÷" + unit.Count(1/v)
	case sc.log:
		return "×" + unit.Count(v)
	case sc.step >= 1:
		return "×" + unit.Count(v)
	default:
		return "×" + strconv.FormatFloat(v, 'f', max(1, int(math.Ceil(-math.Log10(sc.step)-1e-9))), 64)
	}
}

// runs yields the stretches of points that are neighbours and all ok.
func runs(ps []sweepPoint, ok func(sweepPoint) bool) func(func([]sweepPoint) bool) {
	return func(yield func([]sweepPoint) bool) {
		from := 0
		for i := 0; i <= len(ps); i++ {
			if i < len(ps) && ok(ps[i]) && (i == from || ps[i].I == ps[i-1].I+1) {
				continue
			}
			if i > from && !yield(ps[from:i]) {
				return
			}
			from = i
			if i < len(ps) && !ok(ps[i]) {
				from = i + 1
			}
		}
	}
}

// ratioScale holds ratios: it need not begin at zero, and is logarithmic where they span more than a factor of ten.
func ratioScale(vs []float64) scale {
	lo, hi := math.Inf(1), 0.0
	for _, v := range vs {
		if v > 0 && v < 1e15 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if !(hi > 0) {
		return scale{lo: 0.5, hi: 1.5, step: 0.25}
	}
	if hi/lo > 10 {
		return scale{log: true, lo: floorNice(lo), hi: ceilNice(hi)}
	}
	step := niceStep((hi - lo) / 5)
	return scale{lo: max(0, math.Floor(lo/step-1e-9)*step), hi: math.Ceil(hi/step-1e-9) * step, step: step}
}

// ladder is a picture of all ratios with their intervals, one below the other.
type ladder struct {
	Title, Unit string
	Rows        []LaidRung
	Margin      float64
	Scale       scale // zero = what the rows need
}

// ladder has no rows where nothing has a ratio.
func (c *comparison) ladder() ladder {
	m := c.metric(c.main())
	l := ladder{
		Title: "Every comparison with its interval", Unit: "ratio of " + m.Title + " to the baseline",
		Margin: c.r.Plan.Trials.Margin,
	}
	for _, row := range c.rows {
		var part []LaidRung
		for _, col := range c.cols {
			x := c.at(row, col)
			if !x.there || x.baseline {
				continue
			}
			p := c.parts(x, c.main())
			r := LaidRung{
				Label: cmp.Or(col.label(c.colAxes), row.label(c.rowAxes)),
				Sign:  p.Mark.Sign, Word: p.Mark.Word, Class: p.Mark.Class, Of: p.Of,
			}
			if p.Of != nil {
				r.Text = spaced(p.Mark.Sign, p.Ratio)
				r.Detail = x.label + ": " + ratioDetail(p)
			} else {
				r.Note = cmp.Or(p.Mark.Word, p.Note, "not compared")
				r.Detail = x.label + ": " + r.Note
			}
			part = append(part, r)
		}
		if len(part) > 0 && len(c.colAxes) > 0 && len(row.levels) > 0 {
			l.Rows = append(l.Rows, LaidRung{Head: row.label(c.rowAxes)})
		}
		l.Rows = append(l.Rows, part...)
	}
	if !slices.ContainsFunc(l.Rows, func(r LaidRung) bool { return r.Of != nil }) {
		l.Rows = nil
	}
	return l
}

// ratioDetail is all about the ratio of a figure, for a pointer.
func ratioDetail(f LaidFigure) string {
	return spaced(f.Mark.Word, around(f.Ratio, f.Bounds)) + ", n " + strconv.Itoa(f.RatioN)
}

func (l ladder) draw(id string, z size) svg {
	g := newSVG(id, z)
	narrow := z.Name == "narrow"
	var vs []float64
	left, figure := 8.0, 0.0
	for _, r := range l.Rows {
		if r.Of != nil {
			vs = append(vs, r.Of.Center)
			if r.Of.Confidence > 0 {
				vs = append(vs, r.Of.Lo, r.Of.Hi)
			}
		}
		if !narrow {
			left = max(left, min(wideLabel, labelWidth(r.Label)+16))
		}
		figure = max(figure, labelWidth(r.Text))
	}
	sc := l.Scale
	if sc == (scale{}) {
		sc = ratioScale(append(vs, 1, 1+l.Margin, 1/(1+l.Margin)))
	}
	right := z.Width - figure - 18
	x := func(v float64) float64 { return left + max(0, min(1, sc.at(v)))*(right-left) }
	top, bottom := 8.0, 12.0
	heights := make([]float64, len(l.Rows))
	for i, r := range l.Rows {
		heights[i] = 24
		if r.Head != "" {
			heights[i] = 26
		} else if narrow {
			heights[i] = 38
		}
		bottom += heights[i]
	}
	g.plot(left, right, top, bottom, 42)
	if lo, hi := x(1/(1+l.Margin)), x(1+l.Margin); l.Margin > 0 {
		g.box(lo, top, hi-lo, bottom-top, "b-same", "", sameWithin(l.Margin))
	}
	last := -1e9
	for _, v := range sc.ticks() {
		class := "grid"
		if math.Abs(v-1) < 1e-9 {
			class = "one"
		}
		g.down(x(v), top, bottom, class, "")
		t := ratioTick(v, sc)
		w := labelWidth(t) + 2
		if at := max(w/2, min(z.Width-w/2, x(v))); at-w/2 > last+6 {
			g.text(at, bottom+17, "middle", "", t, "")
			last = at + w/2
		}
	}
	g.across(bottom, "axis", "")
	g.text(z.Width/2, bottom+36, "middle", "unit", clipTo(sc.named(l.Unit), z.Width), "")
	g.Label = l.Title
	h := top
	for i, r := range l.Rows {
		h += heights[i]
		at := h - 12 // of the bar
		if r.Head != "" {
			g.text(4, h-7, "", "strong halo", clipTo(r.Head, z.Width-12), "")
			continue
		}
		g.Label += "; " + r.Detail
		class := cmp.Or(r.Class, "c-none")
		if narrow {
			at = h - 10
			g.text(8, h-22, "", "halo", clipTo(r.Label, z.Width-12), r.Detail)
		} else {
			g.text(left-12, at+4, "end", "", clipTo(r.Label, left-14), r.Detail)
		}
		if r.Note != "" {
			note := clipTo(spaced(r.Sign, r.Note), z.Width-left-8)
			g.text(left+6, at+4, "", "halo "+class, note, r.Detail)
			continue
		}
		if lo, hi := x(r.Of.Lo), x(r.Of.Hi); r.Of.Confidence > 0 {
			g.Lines = append(g.Lines, svgLine{lo, hi, at, at, "rung " + class, r.Detail})
			g.down(lo, at-5, at+5, "rung "+class, "")
			g.down(hi, at-5, at+5, "rung "+class, "")
		}
		g.dot(x(r.Of.Center), at, 4.5, "rung "+class, r.Detail)
		g.text(right+10, at+4, "", "figure", r.Text, r.Detail)
	}
	return *g
}

// labelWidth estimates how wide a name is, in fonts that are wider than most: names are mostly figures, capitals and
// signs, and hold anything that a stranger wrote.
func labelWidth(s string) (w float64) {
	for _, r := range s {
		switch {
		case r >= 0x2000:
			w += 1.05
		case strings.ContainsRune(" .,:;'|!()[]·-fijltrI", r):
			w += 0.43
		case r >= 'a' && r <= 'z' && r != 'm' && r != 'w':
			w += 0.62
		case r == 'm' || r == 'w' || r == '@' || r == '%' || r == 'M' || r == 'W':
			w += 1.0
		default:
			w += 0.66
		}
	}
	return w * font
}

// clipTo shortens s to a width.
func clipTo(s string, room float64) string {
	n := len([]rune(s))
	for labelWidth(s) > room && n > 1 {
		n--
		s = clip(s, n)
	}
	return s
}

// strip is the seconds of one variant's trials, side by side.
type strip struct {
	Label  string
	Note   string  // "against itself, "
	Top    float64 // operations/s at the upper edge
	Trials []trial.Trial
}

// strips are those of all variants that have seconds; a variant and its baseline have the same scale.
func (c *comparison) strips() (out []strip) {
	tops := map[string]float64{}
	base := func(key string) string { return cmp.Or(c.byKey[key].variant.Baseline, key) }
	by := map[string][]trial.Trial{}
	id := func(t trial.Trial) string { return t.Variant + map[bool]string{true: "\x1f"}[t.Control] }
	for _, t := range c.r.Trials {
		if len(t.Seconds) == 0 {
			continue
		}
		by[id(t)] = append(by[id(t)], t)
		for _, s := range t.Seconds {
			tops[base(t.Variant)] = max(tops[base(t.Variant)], rate(s))
		}
	}
	for _, x := range c.ordered() {
		k := x.variant.Key
		if ts := by[k]; len(ts) > 0 {
			out = append(out, strip{x.label, "", tops[base(k)], ts})
		}
		if ts := by[k+"\x1f"]; len(ts) > 0 {
			out = append(out, strip{x.label, "against itself, ", tops[base(k)], ts})
		}
	}
	return out
}

func rate(s trial.Second) float64 {
	if s.Length <= 0 {
		return 0
	}
	return float64(s.Ops) / s.Length
}

// wideLabel is the most room that the labels of a wide picture take.
const wideLabel = 352

// stripPoints is the most points that a trial's part of a strip has.
const stripPoints = 60

func drawStrips(ss []strip, rounds int, id string, z size) svg {
	g := newSVG(id, z)
	narrow := z.Name == "narrow"
	upTo := func(s strip) string { return s.Note + "to " + three(s.Top) + "/s" }
	left, high, pitch := 4.0, 32.0, 44.0
	head := "operations/s, second by second; each strip from 0 to the figure beside it"
	if narrow {
		pitch, head = 56, "operations/s by second, each strip from 0"
	} else {
		for _, s := range ss {
			left = max(left, min(wideLabel, max(labelWidth(s.Label), labelWidth(upTo(s)))+14))
		}
	}
	right, top := z.Width-4, 26.0
	bottom := top + pitch*float64(len(ss))
	g.plot(left, right, top, bottom, 22)
	g.text(2, font+1, "", "unit", head, "")
	w := (right - left) / float64(max(1, rounds))
	for r := 0; r < rounds; r += max(1, int(math.Ceil(26/w))) {
		t := strconv.Itoa(r + 1)
		if r == 0 && w > 60 {
			t = "round 1"
		}
		g.text(left+w*(float64(r)+0.5), bottom+14, "middle", "", t, "")
	}
	g.Label = "Operations per second of each trial, second by second"
	for i, s := range ss {
		y0 := top + pitch*float64(i) + high + 4
		if narrow {
			y0 += 14
			name := clipTo(s.Label, right-left-labelWidth(", "+upTo(s))) + ", " + upTo(s)
			g.text(left, y0-high-4, "", "name", name, s.Label)
		} else {
			g.text(left-10, y0-high+13, "end", "name", clipTo(s.Label, left-12), s.Label)
			g.text(left-10, y0-high+28, "end", "", upTo(s), "")
		}
		g.across(y0, "axis", "")
		y := func(v float64) float64 { return y0 - v/max(s.Top, 1e-9)*high }
		var lo, hi float64
		for n, t := range s.Trials {
			x0 := left + w*float64(max(0, min(rounds, t.Round)-1)) + 1.5
			x1 := x0 + w - 3
			end := 0.0
			for _, k := range t.Seconds {
				end += k.Length
			}
			title := fmt.Sprintf("trial %d, round %d, %s%s", t.Seq, t.Round, s.Note, s.Label)
			class := "strip"
			if t.Invalid != "" {
				title += ": does not count, " + t.Invalid
				class = "strip off"
				g.box(x0, y0-high, max(1, x1-x0), high, "b-off", "hatch", title)
			}
			group := (len(t.Seconds) + stripPoints - 1) / stripPoints
			xy := []float64{x0, y0}
			now := 0.0
			for part := range slices.Chunk(t.Seconds, max(1, group)) {
				// Of several seconds the lowest is drawn: a stall must not vanish in a mean.
				v, length := math.Inf(1), 0.0
				for _, k := range part {
					v, length = min(v, rate(k)), length+k.Length
					if r := rate(k); n == 0 && hi == 0 {
						lo, hi = r, r
					} else {
						lo, hi = min(lo, r), max(hi, r)
					}
				}
				a := x0 + now/max(end, 1e-9)*(x1-x0)
				now += length
				b := x0 + now/max(end, 1e-9)*(x1-x0)
				xy = append(xy, a, y(v), b, y(v))
			}
			if len(t.Seconds) > 0 {
				g.path(append(xy, x1, y0), "Z", class, title)
			}
		}
		g.Label += "; " + s.Label + ": " + s.Note + count(len(s.Trials), "trial", "trials") + ", from " +
			three(lo) + " to " + three(hi)
	}
	return *g
}

// timeline is when each trial ran.
func (c *comparison) timeline(id string, z size) svg {
	g := newSVG(id, z)
	type lane struct {
		label   string
		trials  []trial.Trial
		control bool
		base    bool
	}
	var lanes []lane
	start, end := c.r.Started, c.r.Ended
	for _, x := range c.ordered() {
		for _, control := range []bool{false, true} {
			l := lane{label: x.label, control: control, base: x.baseline}
			if control {
				l.label += ", against itself"
			}
			for _, t := range c.r.Trials {
				if t.Variant == x.variant.Key && t.Control == control {
					l.trials = append(l.trials, t)
				}
			}
			if len(l.trials) > 0 || !control {
				lanes = append(lanes, l)
			}
		}
	}
	for _, t := range c.r.Trials {
		if start.IsZero() || t.From.Before(start) && !t.From.IsZero() {
			start = t.From
		}
		if t.To.After(end) {
			end = t.To
		}
	}
	span := max(1, end.Sub(start).Seconds())
	narrow := z.Name == "narrow"
	left, row, lane0 := 4.0, 17.0, 0.0
	if narrow {
		row, lane0 = 31, 14 // the label stands above
	} else {
		for _, l := range lanes {
			left = max(left, min(wideLabel, labelWidth(l.label)+12))
		}
	}
	right, top := z.Width-10, 6.0
	bottom := top + row*float64(len(lanes))
	g.plot(left, right, top, bottom, 42)
	x := func(sec float64) float64 { return left + max(0, min(1, sec/span))*(right-left) }
	for _, t := range timeTicks(span, z.XTicks) {
		g.down(x(t), top, bottom, "grid", "")
		text := timeText(t, span)
		half := labelWidth(text) / 2
		g.text(max(half+1, min(x(t), z.Width-half)), bottom+16, "middle", "", text, "")
	}
	g.across(bottom, "axis", "")
	since := timeUnit(span) + " since " + start.UTC().Format(time.TimeOnly) + " UTC"
	g.text((left+right)/2, bottom+35, "middle", "unit", clipTo(since, right-left), "")
	for i, l := range lanes {
		y := top + row*float64(i)
		if narrow {
			g.text(left, y+12, "", "halo", clipTo(l.label, right-left), l.label)
		} else {
			g.text(left-8, y+row-4, "end", "", clipTo(l.label, left-10), l.label)
		}
		y += lane0
		mid := y + (row-lane0)/2
		for _, t := range l.trials {
			from, to := t.From.Sub(start).Seconds(), t.To.Sub(start).Seconds()
			title := fmt.Sprintf("trial %d, round %d, %s: set up %s, warm-up %s, measured %s", t.Seq, t.Round, l.label,
				unit.Seconds(t.Setup), unit.Seconds(t.Warm), unit.Seconds(to-from))
			class, fill := "k-run", ""
			switch {
			case t.Invalid != "":
				title += "; does not count: " + t.Invalid
				class, fill = "k-off", "hatch"
			case l.control:
				class = "k-control"
			case l.base:
				class = "k-base"
			}
			setup, warm := x(from-t.Warm-t.Setup), x(from-t.Warm)
			g.box(setup, mid-1, x(from)-setup, 2, "k-setup", "", title)
			g.box(warm, mid-2.5, x(from)-warm, 5, "k-warm", "", title)
			g.box(x(from), y+3, max(1.5, x(to)-x(from)), row-lane0-6, class, fill, title)
		}
	}
	g.Label = "Order of the " + count(len(c.r.Trials), "trial", "trials") + " in time, one line a variant; the table " +
		"of all trials shows the same"
	return *g
}
