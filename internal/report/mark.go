package report

import (
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
)

// marks are a document's events, laid on a time axis from 0 to 1.
type marks struct {
	Bands  []band
	Points []mark
}

// band is a stretch of time: a variant in force, or a gap in what was observed.
type band struct {
	From, To float64
	Text     string
	Kind     bandKind
	Title    string
}

type bandKind int

const (
	bandBaseline bandKind = iota
	bandVariant
	bandOther
	bandGap
)

// mark is a moment, or the beginning of a stretch that shades nothing.
type mark struct {
	At     float64
	Text   string
	Offset string
	Kind   event.Kind
}

// marksOf lays the events that fall between from and to on the axis, in order of time.
func marksOf(d *Document, from, to time.Time) marks {
	span := float64(to.Sub(from))
	at := func(t time.Time) float64 { return float64(t.Sub(from)) / span }
	var m marks
	es := slices.Clone(d.Events)
	slices.SortStableFunc(es, func(a, b event.Event) int { return a.At.Compare(b.At) })
	for _, e := range es {
		a, b := at(e.At), at(e.Until)
		unseen := e.Kind == event.Gap || e.Kind == event.Down
		if e.Until.IsZero() {
			b = a
		}
		if b < 0 || a > 1 {
			continue
		}
		switch {
		case (e.Kind == event.Variant || unseen) && b > a:
			kind := bandOther
			switch {
			case unseen:
				kind = bandGap
			case d.Experiment != nil && e.Text == d.Experiment.Baseline, d.Experiment == nil && e.Text == d.baseline():
				kind = bandBaseline
			case d.Experiment != nil && e.Text == d.Experiment.Variant, d.Experiment == nil && e.Text == d.variant():
				kind = bandVariant
			}
			m.Bands = append(m.Bands, band{max(a, 0), min(b, 1), e.Text, kind, e.Text + ", " + d.offset(e.At) +
				" to " + d.offset(e.Until)})
		case a >= 0:
			m.Points = append(m.Points, mark{a, e.Text, d.offset(e.At), e.Kind})
		}
	}
	return m
}

// bandSign is how a band looks where there is neither colour nor hatching.
func bandSign(k bandKind) rune {
	return [...]rune{bandBaseline: '░', bandVariant: '█', bandOther: '▒', bandGap: '?'}[k]
}

// variantRow draws the bands over cols columns.
func variantRow(bs []band, cols int) string {
	row := []rune(strings.Repeat(" ", cols))
	for _, b := range bs {
		for i := range row {
			if b.Kind == bandGap && row[i] != ' ' {
				continue // which variant was in force tells more
			}
			if mid := (float64(i) + 0.5) / float64(cols); mid >= b.From && mid < b.To {
				row[i] = bandSign(b.Kind)
			}
		}
	}
	return string(row)
}

// legend returns the different bands, each once, in the order they appear.
func legend(bs []band) []band {
	var out []band
	for _, b := range bs {
		if !slices.ContainsFunc(out, func(o band) bool { return o.Kind == b.Kind && o.Text == b.Text }) {
			out = append(out, b)
		}
	}
	return out
}

// bandLegend explains the signs of a row.
func bandLegend(bs []band, row string) string {
	var parts []string
	for _, b := range legend(bs) {
		if !strings.ContainsRune(row, bandSign(b.Kind)) {
			continue
		}
		parts = append(parts, string(bandSign(b.Kind))+" "+b.Text)
	}
	return strings.Join(parts, "   ")
}

// sparkline draws points in one row of cols characters, eight heights each; a column in which nothing was measured
// stays empty.
func sparkline(ps []metric.Point, from, to time.Time, cols int, s scale) string {
	sum := make([]float64, cols)
	n := make([]int, cols)
	a, span := from.UnixMilli(), float64(to.UnixMilli()-from.UnixMilli())
	// A reading stands at the end of the time that it tells of: the one at a column's edge belongs before it.
	col := func(p metric.Point) int { return max(0, min(cols-1, int(float64(p.At-1-a)/span*float64(cols)))) }
	for _, part := range segments(ps) {
		for i, p := range part {
			c := col(p)
			if i > 0 { // columns finer than the readings are no gaps
				for j := col(part[i-1]) + 1; j < c; j++ {
					sum[j], n[j] = part[i-1].Value, 1
				}
			}
			sum[c] += p.Value
			n[c]++
		}
	}
	out := make([]rune, cols)
	for i := range out {
		out[i] = ' '
		if n[i] > 0 {
			h := s.at(sum[i] / float64(n[i]))
			out[i] = []rune("▁▂▃▄▅▆▇█")[max(0, min(7, int(h*8)))]
		}
	}
	return string(out)
}
