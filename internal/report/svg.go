package report

import (
	"math"
	"strconv"
	"time"
)

// A picture is drawn twice: wide for screens and paper, narrow for phones, where a scaled wide one could not be read.
type size struct {
	Name   string
	Width  float64
	Height float64
	XTicks int
	Rows   int // of labels above the plot
}

var sizes = []size{{"wide", 860, 270, 10, 3}, {"narrow", 380, 260, 5, 4}}

const font = 12 // of all texts within a picture, in its own units

// svg is a picture, ready for the template: only numbers, texts and fixed words.
type svg struct {
	ID            string
	Size          string // class: wide or narrow
	Width, Height string
	Label         string // what a screen reader says
	Left, Right   string // of the plot, for the cursor
	Top, Bottom   string
	Bands         []svgRect
	Lines         []svgLine
	Paths         []svgPath
	Dots          []svgDot
	Texts         []svgText
	Dropped       []int // marks whose label had no room
}

type svgRect struct{ X, Y, W, H, Class, Title, Fill string }

type svgLine struct{ X1, Y1, X2, Y2, Class, Title string }

type svgPath struct{ D, Class, Title string }

type svgDot struct{ X, Y, R, Class, Title string }

type svgText struct{ X, Y, Anchor, Class, Text, Title string }

// lineClasses are the styles of a chart's lines, in order; they differ in colour and in dashes.
const lineStyles = 6

func lineClass(i int) string { return "l" + strconv.Itoa(i%lineStyles) }

func bandClass(k bandKind) string {
	return [...]string{bandBaseline: "b-base", bandVariant: "b-var", bandOther: "b-other", bandGap: "b-gap"}[k]
}

// draw lays a chart out.
func (c Chart) draw(id string, m marks, from, to time.Time, z size) svg {
	s := scaleFor(c.values(from, to))
	g := svg{ID: id + "-" + z.Name, Size: z.Name, Width: px(z.Width), Height: px(z.Height), Label: c.summary(from, to)}
	span := to.Sub(from).Seconds()

	left := 0.0
	for _, v := range s.ticks() {
		left = max(left, textWidth(bare(v, c.Unit), font))
	}
	left = math.Ceil(left + 14)
	right := z.Width - 12

	xs, texts := make([]float64, len(m.Points)), make([]string, len(m.Points))
	for i, p := range m.Points {
		xs[i], texts[i] = left+p.At*(right-left), clip(p.Text, 40)
	}
	labels := place(xs, texts, left, right, font, z.Rows)
	rows := 0
	for i, l := range labels {
		if l.text == "" {
			g.Dropped = append(g.Dropped, i)
			continue
		}
		rows = max(rows, l.row+1)
	}
	const line = font + 5
	top := 26 + float64(rows)*line
	bottom := top + z.Height - 26 - 44
	g.Height = px(bottom + 44)
	g.Left, g.Right, g.Top, g.Bottom = px(left), px(right), px(top), px(bottom)
	x := func(share float64) float64 { return left + share*(right-left) }
	y := func(v float64) float64 { return bottom - s.at(v)*(bottom-top) }

	unitText := head(c.Unit)
	if s.log {
		unitText += ", logarithmic axis"
	}
	g.Texts = append(g.Texts, svgText{X: "2", Y: px(font + 1), Class: "unit", Text: clip(unitText, int((z.Width-4)/font/0.56))})
	for _, b := range m.Bands {
		r := svgRect{X: px(x(b.From)), Y: px(top), W: px(x(b.To) - x(b.From)), H: px(bottom - top), Class: bandClass(b.Kind), Title: b.Title}
		switch b.Kind {
		case bandBaseline:
			r.Fill = "url(#" + g.ID + "-hatch)"
		case bandGap:
			r.Fill = "url(#" + g.ID + "-dots)"
		case bandVariant, bandOther: // their class fills them
		}
		g.Bands = append(g.Bands, r)
	}
	for _, v := range s.ticks() {
		h := px(y(v))
		class := "grid"
		if v == s.lo && !s.log || v == 0 {
			class = "axis"
		}
		g.Lines = append(g.Lines, svgLine{X1: px(left), X2: px(right), Y1: h, Y2: h, Class: class})
		g.Texts = append(g.Texts, svgText{X: px(left - 7), Y: px(y(v) + 4), Anchor: "end", Text: bare(v, c.Unit)})
	}
	g.Lines = append(g.Lines, svgLine{X1: px(left), X2: px(right), Y1: px(bottom), Y2: px(bottom), Class: "axis"})
	for _, t := range timeTicks(span, z.XTicks) {
		at := x(t / span)
		g.Lines = append(g.Lines, svgLine{X1: px(at), X2: px(at), Y1: px(bottom), Y2: px(bottom + 4), Class: "axis"})
		text := timeText(t, span)
		at = min(at, z.Width-textWidth(text, font)/2)
		g.Texts = append(g.Texts, svgText{X: px(at), Y: px(bottom + 18), Anchor: "middle", Text: text})
	}
	g.Texts = append(g.Texts, svgText{X: px((left + right) / 2), Y: px(bottom + 37), Anchor: "middle", Class: "unit", Text: timeUnit(span) + " since " + from.Format(time.TimeOnly) + " UTC"})

	if v, ok := c.Limit.Get(); ok && len(c.values(from, to)) > 0 {
		h := y(v)
		g.Lines = append(g.Lines, svgLine{X1: px(left), X2: px(right), Y1: px(h), Y2: px(h), Class: "limit", Title: c.LimitText})
		ty := h - 5
		if h-top < font+6 {
			ty = h + font + 3
		}
		g.Texts = append(g.Texts, svgText{X: px(right - 4), Y: px(ty), Anchor: "end", Class: "limit-text halo", Text: clip(c.LimitText, int((right-left)/font/0.56))})
	}
	for i, p := range m.Points {
		l := labels[i]
		up := top
		if l.text != "" {
			ty := top - 7 - float64(l.row)*line
			up = ty - font + 3
			t := svgText{X: px(l.x), Y: px(ty), Class: "mark-text", Text: l.text, Title: p.Text + ", " + p.Offset}
			if l.end {
				t.Anchor = "end"
			}
			g.Texts = append(g.Texts, t)
		}
		g.Lines = append(g.Lines, svgLine{X1: px(xs[i]), X2: px(xs[i]), Y1: px(up), Y2: px(bottom), Class: "mark", Title: p.Text + ", " + p.Offset})
	}
	for i, l := range c.Lines {
		for _, seg := range segments(within(l.Points, from, to)) {
			seg = thin(seg, int(right-left))
			xy := make([]float64, 0, 2*len(seg))
			for _, p := range seg {
				share := float64(p.At-from.UnixMilli()) / 1000 / span
				xy = append(xy, x(share), y(p.Value))
			}
			if len(seg) == 1 {
				g.Dots = append(g.Dots, svgDot{px(xy[0]), px(xy[1]), "2.5", "dot " + lineClass(i), l.Name + " " + quantity(seg[0].Value, c.Unit)})
				continue
			}
			g.Paths = append(g.Paths, svgPath{D: path(xy), Class: "line " + lineClass(i), Title: l.Name})
		}
	}
	return g
}

// draw lays the forest out: one row a pair, the interval of the verdict last.
func (f forest) draw(d *Document, id string, z size) svg {
	e := d.Experiment
	m := e.main()
	g := svg{ID: id + "-" + z.Name, Size: z.Name, Width: px(z.Width)}
	const row = 26
	text := func(v, w string) string {
		if z.Name == "narrow" {
			return w
		}
		return v
	}
	var names []string
	left := 0.0
	for _, p := range f.pairs {
		n := "pair " + strconv.Itoa(p.N)
		n = text(n+":  "+value(p.Before, m.Unit)+"  →  "+value(p.After, m.Unit), n)
		n = clip(n, 48)
		names = append(names, n)
		left = max(left, textWidth(n, font))
	}
	left = max(left, textWidth("interval", font)) + 16
	right := z.Width - 56
	top, bottom := 10.0, 10.0+row*float64(len(f.pairs)+1)+6
	x := func(v float64) float64 { return left + max(0, min(1, f.at(v)))*(right-left) }
	g.Left, g.Right, g.Top, g.Bottom = px(left), px(right), px(top), px(bottom)
	g.Height = px(bottom + 44)

	last := -1e9
	for _, v := range f.ticks() {
		g.Lines = append(g.Lines, svgLine{X1: px(x(v)), X2: px(x(v)), Y1: px(top), Y2: px(bottom), Class: "grid"})
		t := f.tickText(v)
		if w := textWidth(t, font); x(v)-w/2 > last+6 {
			g.Texts = append(g.Texts, svgText{X: px(x(v)), Y: px(bottom + 17), Anchor: "middle", Text: t})
			last = x(v) + w/2
		}
	}
	if f.one {
		g.Lines = append(g.Lines, svgLine{X1: px(x(1)), X2: px(x(1)), Y1: px(top), Y2: px(bottom), Class: "one", Title: "×1: no change"})
	}
	g.Lines = append(g.Lines, svgLine{X1: px(left), X2: px(right), Y1: px(bottom), Y2: px(bottom), Class: "axis"})
	of := "ratio of " + m.Title
	if m.Better == Less {
		of += ", turned so that above ×1 is better"
	}
	g.Texts = append(g.Texts, svgText{X: px((left + right) / 2), Y: px(bottom + 37), Anchor: "middle", Class: "unit", Text: clip(text(of, "ratio"), int((right-left)/font/0.56))})
	if i := f.interval; i.N > 0 {
		g.Bands = append(g.Bands, svgRect{X: px(x(i.Lo)), Y: px(top), W: px(max(1, x(i.Hi)-x(i.Lo))), H: px(bottom - top), Class: "b-int", Title: "interval " + bounds(i)})
	}
	for k, p := range f.pairs {
		h := top + row*(float64(k)+0.5)
		g.Texts = append(g.Texts, svgText{X: px(left - 12), Y: px(h + 4), Anchor: "end", Text: names[k]})
		if r, ok := p.Ratio.Get(); ok {
			g.Dots = append(g.Dots, svgDot{px(x(r)), px(h), "5", "dot l0", names[k] + ", " + factor(r)})
			g.Texts = append(g.Texts, svgText{X: px(right + 8), Y: px(h + 4), Class: "figure", Text: factor(r)})
		} else {
			why := p.Invalid
			if why == "" {
				why = "not measured"
			}
			room := int((right - left) / font / 0.56)
			g.Texts = append(g.Texts, svgText{X: px(left + 4), Y: px(h + 4), Class: "unit", Text: clip("left out: "+why, room), Title: why})
		}
	}
	if i := f.interval; i.N > 0 {
		h := top + row*(float64(len(f.pairs))+0.5)
		g.Texts = append(g.Texts, svgText{X: px(left - 12), Y: px(h + 4), Anchor: "end", Class: "strong", Text: "interval"})
		g.Lines = append(g.Lines, svgLine{X1: px(x(i.Lo)), X2: px(x(i.Hi)), Y1: px(h), Y2: px(h), Class: "interval", Title: bounds(i)})
		for _, v := range []float64{i.Lo, i.Hi} {
			g.Lines = append(g.Lines, svgLine{X1: px(x(v)), X2: px(x(v)), Y1: px(h - 6), Y2: px(h + 6), Class: "interval"})
		}
		c := x(i.Center)
		g.Paths = append(g.Paths, svgPath{D: path([]float64{c - 7, h, c, h - 7, c + 7, h, c, h + 7, c - 7, h}), Class: "diamond", Title: "centre " + factor(i.Center)})
		g.Texts = append(g.Texts, svgText{X: px(right + 8), Y: px(h + 4), Class: "figure strong", Text: factor(i.Center)})
		g.Label = "Ratio of " + m.Title + " for each pair; interval " + bounds(i) + " around " + factor(i.Center)
	} else {
		g.Label = "Ratio of " + m.Title + " for each pair, without an interval"
	}
	return g
}
