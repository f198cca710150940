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
	g.Texts = append(g.Texts, svgText{
		X: "2", Y: px(font + 1), Class: "unit",
		Text: clip(unitText, int((z.Width-4)/font/0.56)),
	})
	for _, b := range m.Bands {
		r := svgRect{
			X: px(x(b.From)), Y: px(top), W: px(x(b.To) - x(b.From)), H: px(bottom - top),
			Class: bandClass(b.Kind), Title: b.Title,
		}
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
	g.Texts = append(g.Texts, svgText{
		X: px((left + right) / 2), Y: px(bottom + 37), Anchor: "middle", Class: "unit",
		Text: timeUnit(span) + " since " + from.Format(time.TimeOnly) + " UTC",
	})

	if v, ok := c.Limit.Get(); ok && len(c.values(from, to)) > 0 {
		h := y(v)
		g.Lines = append(g.Lines, svgLine{
			X1: px(left), X2: px(right), Y1: px(h), Y2: px(h),
			Class: "limit", Title: c.LimitText,
		})
		ty := h - 5
		if h-top < font+6 {
			ty = h + font + 3
		}
		g.Texts = append(g.Texts, svgText{
			X: px(right - 4), Y: px(ty), Anchor: "end", Class: "limit-text halo",
			Text: clip(c.LimitText, int((right-left)/font/0.56)),
		})
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
		g.Lines = append(g.Lines, svgLine{
			X1: px(xs[i]), X2: px(xs[i]), Y1: px(up), Y2: px(bottom), Class: "mark",
			Title: p.Text + ", " + p.Offset,
		})
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
				g.Dots = append(g.Dots, svgDot{px(xy[0]), px(xy[1]), "2.5", "dot " + lineClass(i), l.Name + " " +
					quantity(seg[0].Value, c.Unit)})
				continue
			}
			g.Paths = append(g.Paths, svgPath{D: path(xy), Class: "line " + lineClass(i), Title: l.Name})
		}
	}
	return g
}
