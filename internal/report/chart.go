package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/unit"
)

// logSpan is the factor between small and large values from which on a linear axis would hide the small ones.
const logSpan = 50

// scale maps values to heights 0…1. A linear one begins at zero, unless there are negative values. A logarithmic one
// keeps a place below its lowest decade for measured zeros.
type scale struct {
	log    bool
	zero   bool // logarithmic, and there are zeros to show
	lo, hi float64
	step   float64 // between ticks, linear only
}

// zeroPlace is the share of a logarithmic axis that its zero takes.
const zeroPlace = 0.08

// scaleFor returns the scale for values; it is logarithmic when they span more than a factor of logSpan, counted
// between their 5 % and 95 % quantiles so that one odd reading does not bend the axis.
func scaleFor(values []float64) scale {
	var pos []float64
	var lo, hi float64
	zero := false
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
		if v > 0 {
			pos = append(pos, v)
		}
		zero = zero || v == 0
	}
	slices.Sort(pos)
	if n := len(pos); n > 0 && lo == 0 {
		if cut := n / 20; pos[n-1-cut]/pos[cut] > logSpan {
			return scale{log: true, zero: zero, lo: floorNice(pos[0]), hi: ceilNice(pos[n-1])}
		}
	}
	if lo == hi {
		hi = lo + 1
	}
	step := niceStep((hi - lo) / 5)
	return scale{lo: math.Floor(lo/step) * step, hi: math.Ceil(hi/step-1e-9) * step, step: step}
}

// niceStep returns the smallest of 1, 2, 5 × 10ⁿ that is not below v.
func niceStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	return ceilNice(v)
}

func ceilNice(v float64) float64 {
	return nice(v, func(x float64) bool { return x >= v*(1-1e-9) }, 1, 2, 5, 10)
}

func floorNice(v float64) float64 {
	return nice(v, func(x float64) bool { return x <= v*(1+1e-9) }, 5, 2, 1)
}

// nice returns the first of some multiples of the power of ten of v that fits.
func nice(v float64, fits func(float64) bool, multiples ...float64) float64 {
	for _, m := range multiples {
		if x := pow10(m, int(math.Floor(math.Log10(v)))); fits(x) {
			return x
		}
	}
	return v
}

// pow10 returns m × 10ⁿ without the dust of repeated multiplication.
func pow10(m float64, n int) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(m, 'f', 0, 64)+"e"+strconv.Itoa(n), 64)
	return f
}

// at returns the height of v, 0 at the bottom and 1 at the top of the axis.
func (s scale) at(v float64) float64 {
	if !s.log {
		return (v - s.lo) / (s.hi - s.lo)
	}
	if v <= 0 {
		return 0
	}
	span := math.Log(s.hi / s.lo)
	if span <= 0 {
		span = 1
	}
	h := math.Log(v/s.lo) / span
	if s.zero {
		h = zeroPlace + h*(1-zeroPlace)
	}
	return h
}

// ticks returns the values that get a label and a line across, from low to high.
func (s scale) ticks() []float64 {
	var ts []float64
	if !s.log {
		for i := 0; ; i++ {
			v := s.lo + float64(i)*s.step
			if v > s.hi+s.step/2 {
				return ts
			}
			ts = append(ts, round12(v))
		}
	}
	// Fewer multiples of each power of ten the more of them there are.
	decades := math.Log10(s.hi / s.lo)
	ms := []float64{1}
	if decades < 2.2 {
		ms = []float64{1, 2, 5}
	}
	every := int(math.Ceil((decades + 1) / 7))
	if s.zero {
		ts = append(ts, 0)
	}
	lo, hi := int(math.Floor(math.Log10(s.lo)+1e-9)), int(math.Ceil(math.Log10(s.hi)-1e-9))
	for e := lo; e <= hi; e++ {
		if (e-hi)%every != 0 {
			continue
		}
		for _, m := range ms {
			if v := pow10(m, e); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				ts = append(ts, v)
			}
		}
	}
	return ts
}

// named says in the head of an axis that it is logarithmic.
func (s scale) named(head string) string {
	if s.log {
		head += ", logarithmic axis"
	}
	return head
}

func round12(v float64) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	return f
}

// timeSteps are the distances between ticks of a time axis, seconds.
var timeSteps = []float64{
	0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 4 * 3600,
	6 * 3600, 12 * 3600, 86400,
}

// timeTicks returns at most n+1 ticks from 0 to span, both in seconds.
func timeTicks(span float64, n int) []float64 {
	fits := func(s float64) bool { return span/s <= float64(n) }
	step := timeSteps[len(timeSteps)-1]
	if i := slices.IndexFunc(timeSteps, fits); i >= 0 {
		step = timeSteps[i]
	} else {
		step *= math.Ceil(span / step / float64(n))
	}
	var ts []float64
	for i := 0; float64(i)*step <= span*(1+1e-9); i++ {
		ts = append(ts, round12(float64(i)*step))
	}
	return ts
}

// timeText writes a tick of a time axis that is span seconds long, and timeUnit what it counts.
func timeText(at, span float64) string {
	switch {
	case span <= 180:
		return strconv.FormatFloat(at, 'f', -1, 64)
	case span <= 3*3600:
		s := int(math.Round(at))
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	default:
		m := int(math.Round(at / 60))
		return fmt.Sprintf("%d:%02d", m/60, m%60)
	}
}

func timeUnit(span float64) string {
	switch {
	case span <= 180:
		return "seconds"
	case span <= 3*3600:
		return "minutes:seconds"
	default:
		return "hours:minutes"
	}
}

// segments cuts points where a reading is missing: where two of them are further apart than 2½ usual steps and a
// second.
func segments(ps []metric.Point) [][]metric.Point {
	if len(ps) == 0 {
		return nil
	}
	steps := make([]int64, 0, len(ps))
	for i := 1; i < len(ps); i++ {
		steps = append(steps, ps[i].At-ps[i-1].At)
	}
	slices.Sort(steps)
	limit := int64(math.MaxInt64)
	if len(steps) > 0 {
		usual := steps[len(steps)/2]
		limit = max(usual*5/2, usual+1000)
	}
	var out [][]metric.Point
	from := 0
	for i := 1; i < len(ps); i++ {
		if ps[i].At-ps[i-1].At > limit {
			out = append(out, ps[from:i])
			from = i
		}
	}
	return append(out, ps[from:])
}

// thin returns at most about 2·n of the points: of each n-th part of the time the lowest and the highest, so that no
// spike is lost.
func thin(ps []metric.Point, n int) []metric.Point {
	if len(ps) <= 2*n || n < 1 {
		return ps
	}
	first, span := ps[0].At, ps[len(ps)-1].At-ps[0].At+1
	bucket := func(p metric.Point) int64 { return int64(float64(p.At-first) / float64(span) * float64(n)) }
	var out []metric.Point
	for i := 0; i < len(ps); {
		lo, hi, j := i, i, i
		for ; j < len(ps) && bucket(ps[j]) == bucket(ps[i]); j++ {
			if ps[j].Value < ps[lo].Value {
				lo = j
			}
			if ps[j].Value > ps[hi].Value {
				hi = j
			}
		}
		out = append(out, ps[min(lo, hi)])
		if lo != hi {
			out = append(out, ps[max(lo, hi)])
		}
		i = j
	}
	return out
}

// px writes a coordinate with one decimal.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) }

// path returns the d attribute of a line through points, given as x, y, x, y….
func path(xy []float64) string {
	var parts []string
	for i := 0; i+1 < len(xy); i += 2 {
		parts = append(parts, px(xy[i])+" "+px(xy[i+1]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "M" + strings.Join(parts, "L")
}

// textWidth estimates how wide a text is in a usual sans-serif font of the given size; it errs on the wide side.
func textWidth(s string, size float64) float64 {
	em := 0.0
	for _, r := range s {
		em += runeWidth(r)
	}
	return em * size
}

// runeWidth is that of one character, in em.
func runeWidth(r rune) float64 {
	if r > 0x2e7f || strings.ContainsRune("<>=+~^#%&@MWmw|_{}", r) { // and writings of wide characters
		return 1
	}
	return 0.56
}

// fit shortens s until it is at most so wide, the last character being … when something was left out.
func fit(s string, width, size float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	n, em := 0, runeWidth('…')
	for _, r := range s {
		if em += runeWidth(r); em*size > width {
			break
		}
		n++
	}
	if runeWidth('…')*size > width {
		return ""
	}
	return clip(s, n+1)
}

// clip shortens s to n runes, the last one being … when something was left out.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:max(0, n-1)]), " ") + "…"
}

// placed is a label beside a mark.
type placed struct {
	x    float64 // of its anchor
	end  bool    // the text ends at x instead of beginning there
	row  int     // 0 is next to the plot
	text string  // "" when there was no room
}

// place finds rows for labels that stand at the xs of a plot from left to right, so that none overlaps another, is
// crossed by the line of a mark, or is clipped. It uses at most maxRows; a label that fits nowhere becomes empty.
func place(xs []float64, texts []string, left, right, size float64, maxRows int) []placed {
	type span struct {
		a, b float64
		row  int
	}
	var taken []span
	out, order := make([]placed, len(xs)), make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	// From right to left: the marks that a label reaches over stand already and need a lower row.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(xs[b], xs[a]) })
	for n, i := range order {
		text := fit(texts[i], right-left, size)
		w := textWidth(text, size)
		fits := func(row int, a, b float64) bool {
			if a < left || b > right {
				return false
			}
			for _, s := range taken {
				if s.row == row && a < s.b+6 && s.a < b+6 || s.a < xs[i] && xs[i] < s.b && s.row <= row {
					return false
				}
			}
			for _, j := range order[:n] {
				if a-3 < xs[j] && xs[j] < b+3 && j != i && out[j].text != "" && out[j].row >= row {
					return false
				}
			}
			return true
		}
		for row := 0; row < maxRows && out[i].text == ""; row++ {
			for _, end := range []bool{false, true} {
				a, b := xs[i]+4, xs[i]+4+w
				if end {
					a, b = xs[i]-4-w, xs[i]-4
				}
				if !fits(row, a, b) {
					continue
				}
				taken = append(taken, span{a, b, row})
				out[i] = placed{map[bool]float64{false: a, true: b}[end], end, row, text}
				break
			}
		}
	}
	return out
}

// span returns the time that a document's charts show: From to To, or what its points cover where these are not set.
func (d *Document) span() (from, to time.Time) {
	from, to = d.From, d.To
	for _, c := range d.Charts {
		for _, l := range c.Lines {
			if n := len(l.Points); n > 0 {
				a, b := time.UnixMilli(l.Points[0].At), time.UnixMilli(l.Points[n-1].At)
				if from.IsZero() || d.From.IsZero() && a.Before(from) {
					from = a
				}
				if to.IsZero() || d.To.IsZero() && b.After(to) {
					to = b
				}
			}
		}
	}
	if !to.After(from) {
		to = from.Add(time.Second)
	}
	return from.UTC(), to.UTC()
}

// values returns what the axis has to hold: every value of the chart within the span, and its limit.
func (c Chart) values(from, to time.Time) (vs []float64) {
	for _, l := range c.Lines {
		for _, p := range within(l.Points, from, to) {
			vs = append(vs, p.Value)
		}
	}
	if v, ok := c.Limit.Get(); ok && len(vs) > 0 {
		vs = append(vs, v, v*1.1) // and room for its text above it
	}
	return vs
}

func within(ps []metric.Point, from, to time.Time) []metric.Point {
	return metric.Series{Points: ps}.Window(from.UnixMilli(), to.UnixMilli()).Points
}

// quantity writes a value with its unit for people.
func quantity(v float64, u string) string {
	switch u {
	case "":
		return unit.Count(v)
	case "s":
		return unit.Seconds(v)
	case "ms":
		return unit.Seconds(v / 1000)
	case "B":
		return unit.Bytes(v)
	case "B/s":
		return unit.Bytes(v) + "/s"
	case "%":
		return unit.Percent(v / 100)
	case "1/s", "/s":
		return unit.Count(v) + "/s"
	default:
		return unit.Count(v) + " " + u
	}
}

// bare writes a value of an axis or table whose head names the unit.
func bare(v float64, u string) string {
	switch u {
	case "B", "B/s":
		return unit.Bytes(v)
	default:
		return unit.Count(v)
	}
}

// head writes a unit as the head of an axis or column.
func head(u string) string {
	switch u {
	case "1/s":
		return "per second"
	case "B":
		return "bytes"
	case "B/s":
		return "bytes/s"
	default:
		return u
	}
}

// factor writes after ÷ before so that its size can be read both ways: "×237", "×0.93", and "÷263" below a half.
func factor(r float64) string {
	if r > 0 && r < 0.5 {
		return "÷" + strings.TrimPrefix(unit.Ratio(1/r), "×")
	}
	return unit.Ratio(r)
}
