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
	Width, Height float64
	Label         string  // what a screen reader says
	Left, Right   float64 // of the plot, for the cursor
	Top, Bottom   float64
	Bands         []svgRect
	Lines         []svgLine
	Paths         []svgPath
	Dots          []svgDot
	Texts         []svgText
	Dropped       []int // marks whose label had no room
}

type svgRect struct {
	X, Y, W, H         float64
	Class, Fill, Title string
}

type svgLine struct {
	X1, X2, Y1, Y2 float64
	Class, Title   string
}

type svgPath struct{ D, Class, Title string }

type svgDot struct {
	X, Y, R      float64
	Class, Title string
}

type svgText struct {
	X, Y                       float64
	Anchor, Class, Text, Title string
}

func newSVG(id string, z size) *svg { return &svg{ID: id + "-" + z.Name, Size: z.Name, Width: z.Width} }

// plot says where the plot is, and how high the picture is below it.
func (g *svg) plot(left, right, top, bottom, below float64) {
	g.Left, g.Right, g.Top, g.Bottom, g.Height = left, right, top, bottom, bottom+below
}

func (g *svg) box(x, y, w, h float64, class, fill, title string) {
	if fill != "" {
		fill = "url(#" + g.ID + "-" + fill + ")"
	}
	g.Bands = append(g.Bands, svgRect{x, y, w, h, class, fill, title})
}

// across draws a line from the left to the right of the plot, down one that falls.
func (g *svg) across(y float64, class, title string) {
	g.Lines = append(g.Lines, svgLine{g.Left, g.Right, y, y, class, title})
}

func (g *svg) down(x, from, to float64, class, title string) {
	g.Lines = append(g.Lines, svgLine{x, x, from, to, class, title})
}

func (g *svg) path(xy []float64, end, class, title string) {
	g.Paths = append(g.Paths, svgPath{path(xy) + end, class, title})
}

func (g *svg) dot(x, y, r float64, class, title string) {
	g.Dots = append(g.Dots, svgDot{x, y, r, class, title})
}

func (g *svg) text(x, y float64, anchor, class, text, title string) {
	g.Texts = append(g.Texts, svgText{x, y, anchor, class, text, title})
}

// lineClasses are the styles of a chart's lines, in order; they differ in colour and in dashes.
const lineStyles = 6

func lineClass(i int) string { return "l" + strconv.Itoa(i%lineStyles) }

func bandClass(k bandKind) string {
	return [...]string{bandBaseline: "b-base", bandVariant: "b-var", bandOther: "b-other", bandGap: "b-gap"}[k]
}

// draw lays a chart out.
func (c Chart) draw(id string, m marks, from, to time.Time, z size) svg {
	s := scaleFor(c.values(from, to))
	g := newSVG(id, z)
	g.Label = c.summary(from, to)
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
	g.plot(left, right, top, bottom, 44)
	x := func(share float64) float64 { return left + share*(right-left) }
	y := func(v float64) float64 { return bottom - s.at(v)*(bottom-top) }

	g.text(2, font+1, "", "unit", fit(s.named(head(c.Unit)), z.Width-4, font), "")
	for _, b := range m.Bands {
		fill := map[bandKind]string{bandBaseline: "hatch", bandGap: "dots"}[b.Kind] // others are filled by their class
		g.box(x(b.From), top, x(b.To)-x(b.From), bottom-top, bandClass(b.Kind), fill, b.Title)
	}
	for _, v := range s.ticks() {
		class := "grid"
		if v == s.lo && !s.log || v == 0 {
			class = "axis"
		}
		g.across(y(v), class, "")
		g.text(left-7, y(v)+4, "end", "", bare(v, c.Unit), "")
	}
	g.across(bottom, "axis", "")
	for _, t := range timeTicks(span, z.XTicks) {
		at, text := x(t/span), timeText(t, span)
		g.down(at, bottom, bottom+4, "axis", "")
		g.text(min(at, z.Width-textWidth(text, font)/2), bottom+18, "middle", "", text, "")
	}
	since := timeUnit(span) + " since " + from.Format(time.TimeOnly) + " UTC"
	g.text((left+right)/2, bottom+37, "middle", "unit", since, "")

	if v, ok := c.Limit.Get(); ok && len(c.values(from, to)) > 0 {
		h := y(v)
		g.across(h, "limit", c.LimitText)
		ty := h - 5
		if h-top < font+6 {
			ty = h + font + 3
		}
		g.text(right-4, ty, "end", "limit-text halo", fit(c.LimitText, right-left, font), "")
	}
	for i, p := range m.Points {
		l, up, title := labels[i], top, p.Text+", "+p.Offset
		if l.text != "" {
			ty := top - 7 - float64(l.row)*line
			up = ty - font + 3
			g.text(l.x, ty, map[bool]string{true: "end"}[l.end], "mark-text", l.text, title)
		}
		g.down(xs[i], up, bottom, "mark", title)
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
				g.dot(xy[0], xy[1], 2.5, "dot "+lineClass(i), l.Name+" "+quantity(seg[0].Value, c.Unit))
				continue
			}
			g.path(xy, "", "line "+lineClass(i), l.Name)
		}
	}
	return *g
}
