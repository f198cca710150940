package panel

import (
	"math"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Grid cuts a time into cells of equal length; cell i is behind From+i*Cell, up to and with From+(i+1)*Cell. All in
// milliseconds.
type Grid struct {
	From, Cell int64
	N          int
}

// To returns the end of the last cell.
func (g Grid) To() int64 { return g.From + int64(g.N)*g.Cell }

// Course is a figure cell by cell; what is not known is NaN. Low and High are the least and the greatest within each
// cell and nil where only the mean is known; for a course whose cells are as fine as its samples they are the mean.
type Course struct{ Mean, Low, High []float64 }

// None returns a course of which nothing is known.
func (g Grid) None() Course {
	c := Course{Mean: make([]float64, g.N)}
	for i := range c.Mean {
		c.Mean[i] = math.NaN()
	}
	return c
}

// Known reports whether there is a figure in any cell.
func (c Course) Known() bool {
	for _, v := range c.Mean {
		if v == v {
			return true
		}
	}
	return false
}

// Tracer turns samples into courses. It keeps what it works with from one series to the next.
//
// For each series: Begin, one or more of Rate, Gauge and GaugeMinutes, then Add.
type Tracer struct {
	Grid
	since      int64     // what is before is not filled
	area, span []float64 // of each cell: sum of value times milliseconds, and the milliseconds that are known
	low, high  []float64
	out        []bool // cells of which nothing can be known, whatever samples lie about them; nil for none
}

// NewTracer returns a tracer for a grid.
func NewTracer(g Grid) *Tracer {
	return &Tracer{
		Grid: g, area: make([]float64, g.N), span: make([]float64, g.N), low: make([]float64, g.N),
		high: make([]float64, g.N),
	}
}

// gap tells pauses of the reading from its pace.
type gap struct{ usual, odd int64 }

// patience is how many times the usual distance two samples may lie apart before the time between them counts as not
// observed: one reading that is missing does no harm.
const patience = 2.5

// pace returns the smallest distance among the first samples, for what comes before a gap is known.
func pace(ps []metric.Point) gap {
	g := gap{usual: math.MaxInt64}
	for i := 1; i < len(ps) && i < 16; i++ {
		if d := ps[i].At - ps[i-1].At; d > 0 {
			g.usual = min(g.usual, d)
		}
	}
	if g.usual == math.MaxInt64 {
		g.usual = 1000
	}
	g.usual = max(g.usual, 1000)
	return g
}

// is reports whether nothing was observed within d. It wants to hear of every distance: one that is usual ends what was
// odd, as the end of a series does.
func (g *gap) is(d int64) bool {
	if float64(d) <= patience*float64(g.usual) {
		if d < g.usual {
			g.usual = max(d, g.usual/2, 1000)
		}
		g.odd = 0
		return false
	}
	if g.odd > 0 && d <= g.odd+g.odd/4 && d >= g.odd-g.odd/4 { // twice in a row: it is read more rarely now
		g.usual, g.odd = d, 0
		return false
	}
	g.odd = d
	return true
}

// Begin forgets what was traced.
func (t *Tracer) Begin() {
	t.since = t.From
	clear(t.area)
	clear(t.span)
	for i := range t.low {
		t.low[i], t.high[i] = math.Inf(1), math.Inf(-1)
	}
}

// Out says of which cells nothing can be known, one for each: no line goes through them. nil takes that back.
func (t *Tracer) Out(cells []bool) { t.out = cells }

// Since leaves what is before at as it is in what is traced from now on.
func (t *Tracer) Since(at int64) { t.since = max(at, t.From) }

// fill says that the value was v from a to b.
func (t *Tracer) fill(a, b int64, v float64) {
	a, b = max(a, t.since), min(b, t.To())
	if a >= b {
		return
	}
	i := int((a - t.From) / t.Cell)
	for end := t.From + int64(i+1)*t.Cell; a < b; end += t.Cell {
		d := float64(min(b, end) - a)
		t.area[i] += v * d
		t.span[i] += d
		a = end
		i++
	}
}

// mark tells that v was seen at the moment at.
func (t *Tracer) mark(at int64, v float64) {
	if at <= t.since || at > t.To() {
		return
	}
	i := (at - t.From - 1) / t.Cell
	t.low[i], t.high[i] = min(t.low[i], v), max(t.high[i], v)
}

// Rate works out how fast a counter grew, from samples in order of time; NaN ends it. A fall is a counter that began
// anew at 0. long is the longest distance of samples between which it was observed, 0 to take it from their pace.
func (t *Tracer) Rate(ps []metric.Point, long int64) {
	g := pace(ps)
	for i := 1; i < len(ps); i++ {
		p, q := &ps[i-1], &ps[i]
		d := q.At - p.At
		if p.Value != p.Value || q.Value != q.Value || d <= 0 {
			g.odd = 0
			continue
		}
		if long > 0 && d > long || long == 0 && g.is(d) {
			continue
		}
		grown := q.Value - p.Value
		if grown < 0 {
			grown = q.Value
		}
		t.fill(p.At, q.At, grown*1000/float64(d))
	}
}

// Gauge takes the values as they are: each holds for the second that ends with it, and from there until the next one,
// or for as long as readings usually lie apart when the next one is missing.
func (t *Tracer) Gauge(ps []metric.Point) {
	g := pace(ps)
	for i := range ps {
		p := &ps[i]
		if p.Value != p.Value {
			g.odd = 0
			continue
		}
		until := p.At + g.usual
		if i+1 < len(ps) {
			if d := ps[i+1].At - p.At; ps[i+1].Value != ps[i+1].Value {
				until = min(until, ps[i+1].At)
			} else if !g.is(d) {
				until = ps[i+1].At
			}
		}
		t.fill(p.At-1000, until-1000, p.Value)
		t.mark(p.At, p.Value)
	}
}

// GaugeMinutes takes the means of minutes, and the least and greatest from the samples that are kept of them.
func (t *Tracer) GaugeMinutes(kept, means []metric.Point) {
	for _, m := range means {
		if m.Value == m.Value {
			t.fill(m.At-60_000, m.At, m.Value)
		}
	}
	for _, p := range kept {
		if p.Value == p.Value {
			t.mark(p.At, p.Value)
		}
	}
}

// Add adds what was traced to a course.
func (t *Tracer) Add(c *Course) {
	for i, s := range t.span {
		if s == 0 || t.out != nil && t.out[i] {
			continue
		}
		v := t.area[i] / s
		if have := c.Mean[i]; have == have {
			v += have
		}
		c.Mean[i] = v
	}
}

// Extremes gives the course the least and greatest that was traced in each cell. They are those of the sum only when
// the course is of one series.
func (t *Tracer) Extremes(c *Course) {
	c.Low, c.High = make([]float64, t.N), make([]float64, t.N)
	for i := range c.Low {
		switch {
		case t.low[i] <= t.high[i]:
			c.Low[i], c.High[i] = t.low[i], t.high[i]
		default:
			c.Low[i], c.High[i] = c.Mean[i], c.Mean[i]
		}
	}
}

// Plus returns a+b cell by cell, or a-b. It may change a.
func Plus(a, b Course, minus bool) Course {
	sign := 1.0
	if minus {
		sign = -1
	}
	for i, v := range b.Mean {
		a.Mean[i] += sign * v
	}
	return Course{Mean: a.Mean}
}

// Buckets sums up each k cells. mean is the mean of the cells that are known; over, when it is given, is what a is
// divided by: the mean is then the ratio of the sums, and unknown where that of over is 0. low and high are the least
// and greatest of the cells, nil where they are not known or tell no more than the mean.
func Buckets(a Course, over *Course, k int, scale float64, fine bool) (mean, low, high []float64) {
	n := (len(a.Mean) + k - 1) / k
	mean = make([]float64, n)
	if scale == 0 {
		scale = 1
	}
	lo, hi := a.Low, a.High
	if fine {
		lo, hi = a.Mean, a.Mean
	}
	ranged := lo != nil && (k > 1 || !fine) && (over == nil || fine)
	if ranged {
		low, high = make([]float64, n), make([]float64, n)
	}
	differ := false
	for b := range n {
		sum, div, known := 0.0, 0.0, 0
		l, h := math.Inf(1), math.Inf(-1)
		for i := b * k; i < min((b+1)*k, len(a.Mean)); i++ {
			v, w := a.Mean[i], 1.0
			if over != nil {
				w = over.Mean[i]
			}
			if v != v || w != w {
				continue
			}
			sum += v
			div += w
			known++
			if ranged && w > 0 {
				l, h = min(l, lo[i]/w), max(h, hi[i]/w)
			}
		}
		mean[b] = math.NaN()
		if known > 0 && div > 0 {
			mean[b] = sum / div * scale
		}
		if ranged {
			if l > h {
				low[b], high[b] = mean[b], mean[b]
			} else {
				low[b], high[b] = l*scale, h*scale
				differ = differ || l < h
			}
		}
	}
	if !differ {
		return mean, nil, nil
	}
	return mean, low, high
}
