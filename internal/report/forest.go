package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/stat"
)

// forest is the picture of an experiment: the ratio of each pair as a dot, the interval of the verdict as a bar, over
// one axis of ratios.
type forest struct {
	scale
	pairs    []pair
	interval stat.Interval
	one      bool // ×1, no change, lies within the axis
	note     string
}

// newForest returns the picture; not ok when no pair has a ratio.
func newForest(d *Document) (f forest, ok bool) {
	if d.Experiment == nil {
		return f, false
	}
	f.pairs = d.Experiment.pairs()
	var vs []float64
	for _, p := range f.pairs {
		if r, ok := p.Ratio.Get(); ok {
			vs = append(vs, r)
		}
	}
	if len(vs) == 0 {
		return f, false
	}
	if d.Verdict != nil && d.Verdict.Ratio.N > 0 {
		f.interval = d.Verdict.Ratio
		vs = append(vs, f.interval.Lo, f.interval.Hi, f.interval.Center)
	}
	lo, hi := vs[0], vs[0]
	for _, v := range vs {
		lo, hi = min(lo, v), max(hi, v)
	}
	// ×1 belongs on the axis unless that would squeeze the pairs into one spot.
	if spread := max(hi-lo, hi*0.02); lo-1 < 3*spread && 1-hi < 3*spread {
		lo, hi, f.one = min(lo, 1), max(hi, 1), true
	} else if lo > 1 {
		f.note = "No change would be ×1, far left of this axis."
	} else {
		f.note = "No change would be ×1, far right of this axis."
	}
	room := max((hi-lo)*0.12, hi*0.01)
	lo, hi = lo-room, hi+room
	f.step = niceStep((hi - lo) / 4)
	f.lo, f.hi = max(0, math.Floor(lo/f.step)*f.step), math.Ceil(hi/f.step)*f.step
	return f, true
}

// ladder is the picture on a page.
func (f forest) ladder(d *Document) ladder {
	m := d.Experiment.main()
	l := ladder{Title: "Each pair of windows", Unit: "ratio of " + m.Title, Scale: f.scale}
	if m.Better == Less {
		l.Unit += ", inverted so that above ×1 is better"
	}
	for _, p := range f.pairs {
		r := LaidRung{Label: fmt.Sprintf("pair %d: %s → %s", p.N, value(p.Before, m.Unit), value(p.After, m.Unit))}
		if v, ok := p.Ratio.Get(); ok {
			r.Of, r.Text = &stat.Interval{Center: v, N: 1}, factor(v)
			r.Detail = r.Label + ", " + r.Text
		} else {
			r.Note = "left out: " + cmp.Or(p.Invalid, "not measured")
			r.Detail = r.Label + ", " + r.Note
		}
		l.Rows = append(l.Rows, r)
	}
	if i := f.interval; i.N > 0 {
		r := LaidRung{Label: "interval", Of: &i, Text: factor(i.Center)}
		r.Detail = r.Label + " " + bounds(i) + " around " + r.Text
		l.Rows = append(l.Rows, r)
	}
	return l
}

func (f forest) row(n int, p pair) string {
	row := f.axis(n)
	if r, ok := p.Ratio.Get(); ok {
		row[f.col(r, n)] = '●'
	}
	return string(row)
}

func (f forest) bar(n int) string {
	row := f.axis(n)
	a, b := f.col(f.interval.Lo, n), f.col(f.interval.Hi, n)
	for i := a; i <= b; i++ {
		row[i] = '━'
	}
	row[f.col(f.interval.Center, n)] = '◆'
	return string(row)
}

func (f forest) axis(n int) []rune {
	row := []rune(strings.Repeat("·", n))
	if f.one {
		row[f.col(1, n)] = '│'
	}
	return row
}

func (f forest) col(v float64, n int) int { return max(0, min(n-1, int(f.at(v)*float64(n)))) }
