package report

import (
	"cmp"
	"fmt"
	"iter"
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
	Points []sweepPoint // of each of Xs; one without a text is of nothing
}

type sweepPoint struct {
	At   stat.Interval
	Text string // for a pointer
}

func (p sweepPoint) shown() bool { return p.At.N > 0 }

// failed reports whether there should be a value.
func (p sweepPoint) failed() bool { return p.Text != "" && p.At.N == 0 }

// numeric returns the first axis of the table that is one of numbers, its levels rising.
func (c *comparison) numeric() (plan.Axis, bool) {
	for _, name := range slices.Concat(c.rowAxes, c.colAxes) {
		a := axisOf(c.r, name)
		a.Levels = slices.Clone(a.Levels)
		slices.SortStableFunc(a.Levels, func(x, y plan.Level) int { return cmp.Compare(x.Numeric, y.Numeric) })
		ok := a.Numeric && len(a.Levels) >= 3
		for i := range a.Levels {
			ok = ok && (i == 0 || a.Levels[i].Numeric > a.Levels[i-1].Numeric)
		}
		if ok {
			return a, true
		}
	}
	return plan.Axis{}, false
}

// sweepsOf are the curves of the first value over the numeric axis and, where each of its points has a baseline of its
// own, those of the ratio.
func sweepsOf(c *comparison) (out []sweep) {
	axis, ok := c.numeric()
	if !ok || c.main() == "" {
		return nil
	}
	m := c.metric(c.main())
	others := slices.DeleteFunc(slices.Concat(c.rowAxes, c.colAxes), func(n string) bool { return n == axis.Name })
	base := sweep{
		Axis: axis.Name, Times: 1, Xs: each(axis.Levels, func(l plan.Level) float64 { return l.Numeric }),
		Names: each(axis.Levels, func(l plan.Level) string { return l.Name }),
	}
	type curve struct {
		levels        []string // of the other axes
		values, ratio sweepLine
	}
	var curves []*curve
	along := false // the numeric axis is what is compared
	for _, x := range c.sorted(others) {
		b, ok := c.byKey[x.variant.Baseline]
		along = along || ok && b.variant.Levels[axis.Name] != x.variant.Levels[axis.Name]
		levels := each(others, func(a string) string { return x.variant.Levels[a] })
		n := slices.IndexFunc(curves, func(k *curve) bool { return slices.Equal(k.levels, levels) })
		if n < 0 {
			l := sweepLine{Name: cmp.Or(label(others, levels), m.Title), Style: len(curves)}
			k := &curve{levels, l, l}
			k.values.Points, k.ratio.Points = make([]sweepPoint, len(base.Xs)), make([]sweepPoint, len(base.Xs))
			n, curves = len(curves), append(curves, k)
		}
		p := c.parts(x, c.main())
		at := sweepPoint{Text: x.label + ": " + cmp.Or(x.cell.Failed, p.Note, "not measured")}
		if p.At != nil {
			at = sweepPoint{*p.At, x.label + ": " + m.full(p.At.Center)}
			if p.Interval != "" {
				at.Text += " (" + p.Interval + "), " + nText(p.N)
			}
		}
		i := slices.Index(base.Names, x.variant.Levels[axis.Name])
		if i < 0 { // a file of others
			continue
		}
		curves[n].values.Points[i] = at
		if p.Of != nil {
			curves[n].ratio.Points[i] = sweepPoint{*p.Of, x.label + ": " + ratioDetail(p)}
		}
	}
	parts := [][]*curve{curves}
	if len(curves) > lineStyles && len(others) > 1 { // a picture for each level of the first axis
		var g groups[string]
		for _, k := range curves {
			g.add(k.levels[0], k.levels[0])
		}
		parts = each(g.order, func(first string) []*curve {
			return slices.DeleteFunc(slices.Clone(curves), func(k *curve) bool { return k.levels[0] != first })
		})
	}
	for _, ratio := range []bool{false, true} {
		for _, all := range parts {
			for part := range slices.Chunk(all, lineStyles) {
				s := base
				s.Title, s.Unit, s.Times = capital(m.axis())+" over "+axis.Name, m.axis(), m.times()
				s.Value = func(v float64) string { return bare(v*m.times(), m.Unit) }
				if ratio {
					s.Title, s.Unit = "Ratio to the baseline over "+axis.Name, "ratio of "+m.Title+" to the baseline"
					s.Ratio, s.Times, s.Margin, s.Value = true, 1, c.r.Plan.Trials.Margin, unit.Ratio
				}
				for n, k := range part {
					if len(parts) > 1 || len(all) > lineStyles {
						k.values.Style, k.ratio.Style = n, n // the same in all pictures
					}
					l := k.values
					if ratio {
						l = k.ratio
					}
					if slices.ContainsFunc(l.Points, func(p sweepPoint) bool { return p.Text != "" }) {
						s.Lines = append(s.Lines, l)
					}
					for _, p := range l.Points {
						if p.failed() {
							s.Missing = append(s.Missing, p.Text)
						}
					}
				}
				out = append(out, s)
			}
		}
		if along {
			break
		}
	}
	return slices.DeleteFunc(out, func(s sweep) bool {
		n := 0
		for _, l := range s.Lines {
			n += len(slices.DeleteFunc(slices.Clone(l.Points), func(p sweepPoint) bool { return !p.shown() }))
		}
		return n < 2
	})
}

// sorted are the cells in the order of the named axes.
func (c *comparison) sorted(axes []string) []cellView {
	out := c.ordered()
	levels := func(x cellView) []string { return each(axes, func(a string) string { return x.variant.Levels[a] }) }
	slices.SortStableFunc(out, func(a, b cellView) int { return levelOrder(c.r, axes, levels(a), levels(b)) })
	return out
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

func (s sweep) label() string {
	t := s.Title
	for _, l := range s.Lines {
		var ps []string
		for i, p := range l.Points {
			switch {
			case p.shown():
				ps = append(ps, s.Axis+" "+s.Names[i]+" "+s.Value(p.At.Center))
			case p.failed():
				ps = append(ps, s.Axis+" "+s.Names[i]+" not measured")
			}
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
			if at := l.Points[i].At; at.N > 0 {
				v = s.Value(at.Center)
				if at.Confidence > 0 {
					v += " (" + strings.TrimPrefix(s.Value(at.Lo), "×") + "–" +
						strings.TrimPrefix(s.Value(at.Hi), "×") + "), " + nText(at.N)
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
	// Bands first, then lines and points: none hides another's centre.
	for _, l := range s.Lines {
		for from, to := range l.runs() {
			var up, down []float64
			for i, p := range l.Points[from:to] {
				if p.At.Confidence > 0 {
					up = append(up, x(from+i), y(p.At.Hi))
					down = append([]float64{x(from + i), y(p.At.Lo)}, down...)
				}
			}
			if len(up) > 2 {
				g.path(append(up, down...), "Z", "area "+lineClass(l.Style), l.Name+", interval")
			}
		}
	}
	for _, l := range s.Lines {
		for from, to := range l.runs() {
			var xy []float64
			for i, p := range l.Points[from:to] {
				xy = append(xy, x(from+i), y(p.At.Center))
			}
			if to-from > 1 {
				g.path(xy, "", "line "+lineClass(l.Style), l.Name)
			}
		}
	}
	fails := make([]float64, len(s.Xs))
	for _, l := range s.Lines {
		class := lineClass(l.Style)
		for i, p := range l.Points {
			switch {
			case p.failed():
				g.text(x(i)+11*fails[i], bottom-5, "middle", "fail "+class, signFailed, p.Text)
				fails[i]++
			case p.shown():
				if p.At.Confidence > 0 {
					g.down(x(i), y(p.At.Lo), y(p.At.Hi), "whisker "+class, p.Text)
				}
				g.dot(x(i), y(p.At.Center), 3.6, "dot "+class, p.Text)
			}
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

// runs yields the stretches of points that are neighbours and shown: the first, and the one behind the last.
func (l sweepLine) runs() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for from := 0; from < len(l.Points); from++ {
			to := from
			for to < len(l.Points) && l.Points[to].shown() {
				to++
			}
			if to > from && !yield(from, to) {
				return
			}
			from = to
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

// ladderOf has no rows where nothing has a ratio.
func ladderOf(c *comparison) ladder {
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
				Label: cmp.Or(label(c.colAxes, col), label(c.rowAxes, row)),
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
		if len(part) > 0 && len(c.colAxes) > 0 && len(row) > 0 {
			l.Rows = append(l.Rows, LaidRung{Head: label(c.rowAxes, row)})
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
	if sc.at(1) > 0 && sc.at(1) < 1 { // also where no tick is
		g.down(x(1), top, bottom, "one", "×1: no change")
	}
	for _, v := range sc.ticks() {
		if math.Abs(v-1) >= 1e-9 {
			g.down(x(v), top, bottom, "grid", "")
		}
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

// stripsOf are those of all variants that have seconds; a variant and its baseline have the same scale.
func stripsOf(c *comparison) (out []strip) {
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

// drawTimeline is when each trial ran.
func drawTimeline(c *comparison, id string, z size) svg {
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
