package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
)

// none stands where a value is unknown or does not apply.
const none = "–"

// table is what every renderer draws in its own way. Its first Left columns and its last Tail ones hold text, those
// between hold figures.
type table struct {
	Head []string
	Rows [][]string
	Left int
	Tail int
}

// Figure reports whether column i holds figures.
func (t table) Figure(i int) bool { return i >= t.Left && i < len(t.Head)-t.Tail }

// told writes a value, or what stands for an unknown one.
func told[T any](v known.Value[T], unknown string, write func(T) string) string {
	if x, ok := v.Get(); ok {
		return write(x)
	}
	return unknown
}

func value(v known.Value[float64], u string) string {
	return told(v, none, func(x float64) string { return quantity(x, u) })
}

// quotient returns after ÷ before; unknown when either is or before is zero.
func quotient(before, after known.Value[float64]) known.Value[float64] {
	b, ok1 := before.Get()
	a, ok2 := after.Get()
	if !ok1 || !ok2 || b == 0 || math.IsInf(a/b, 0) || math.IsNaN(a/b) {
		return known.None[float64]()
	}
	return known.Of(a / b)
}

func factorOf(v known.Value[float64]) string { return told(v, none, factor) }

// ratio returns the measure's ratio: the centre of its interval or the plain quotient.
func (m Measure) ratio() known.Value[float64] {
	if m.Ratio.N > 0 {
		return known.Of(m.Ratio.Center)
	}
	return quotient(m.Before, m.After)
}

// bounds writes an interval, for example "×229 to ×246"; a bound below a half is written as a division, like its
// centre.
func bounds(i stat.Interval) string { return factor(i.Lo) + " to " + factor(i.Hi) }

// good says whether a measure went the right way: 1, the wrong one: -1, or neither: 0. Only a verdict of better or
// worse gives it a right to say so, and never against the measure's own interval. Within 2 % nothing moved.
func (d *Document) good(m Measure) int {
	r, ok := m.ratio().Get()
	i := m.Ratio
	switch {
	case d.Verdict == nil || d.Verdict.Result != stat.Better && d.Verdict.Result != stat.Worse,
		!ok, m.Better == Neither, math.Abs(r-1) < 0.02, i.N > 0 && i.Lo <= 1 && i.Hi >= 1:
		return 0
	case (r > 1) == (m.Better == More):
		return 1
	default:
		return -1
	}
}

func (d *Document) measures() table {
	t := table{Head: []string{"", d.baseline(), d.variant(), "ratio"}, Left: 1}
	interval := slices.IndexFunc(d.Measures, func(m Measure) bool { return m.Ratio.N > 0 })
	if interval >= 0 {
		t.Head = append(t.Head, unit.Percent(d.Measures[interval].Ratio.Confidence)+" interval")
	}
	for _, m := range d.Measures {
		row := []string{m.Title, value(m.Before, m.Unit), value(m.After, m.Unit), factorOf(m.ratio()), none}
		if m.Ratio.N > 0 {
			row[4] = bounds(m.Ratio)
		}
		t.Rows = append(t.Rows, row[:len(t.Head)])
	}
	return t
}

// baseline and variant are the names of the two sides.
func (d *Document) baseline() string {
	if d.Experiment == nil {
		return "before"
	}
	return cmp.Or(d.Experiment.Baseline, "before")
}

func (d *Document) variant() string {
	if d.Experiment == nil {
		return "after"
	}
	return cmp.Or(d.Experiment.Variant, "after")
}

// figures is the table of one class before and after.
func (c ClassChange) figures() table {
	t := table{Head: []string{
		"", "calls per second", "mean", "95 %", "rows examined per call", "rows sent per call",
		"share of time",
	}, Left: 1}
	row := func(name string, f *ClassFigures) []string {
		if f == nil {
			return []string{name, "not seen", none, none, none, none, none}
		}
		return []string{
			name, value(f.PerSec, ""), value(f.MeanSec, "s"), value(f.P95Sec, "s"), value(f.Examined, ""),
			value(f.Sent, ""), told(f.Share, none, unit.Percent),
		}
	}
	t.Rows = [][]string{row("before", c.Before), row("after", c.After)}
	if b, a := c.Before, c.After; b != nil && a != nil {
		t.Rows = append(t.Rows, []string{
			"ratio", factorOf(quotient(b.PerSec, a.PerSec)), factorOf(quotient(b.MeanSec, a.MeanSec)),
			factorOf(quotient(b.P95Sec, a.P95Sec)), factorOf(quotient(b.Examined, a.Examined)),
			factorOf(quotient(b.Sent, a.Sent)), none,
		})
	}
	return t
}

// pair is one pair of windows, judged by the experiment's main metric.
type pair struct {
	N             int
	Before, After known.Value[float64]
	Ratio         known.Value[float64] // oriented as the verdict: above 1 is better
	Invalid       string
}

// main returns the metric that the verdict is about.
func (e *Experiment) main() Metric {
	if e.Main == "" && len(e.Metrics) > 0 {
		return e.Metrics[0]
	}
	return e.metric(e.Main)
}

func (e *Experiment) metric(name string) Metric {
	if i := slices.IndexFunc(e.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return e.Metrics[i]
	}
	return MetricNamed(name)
}

func (e *Experiment) pairs() []pair {
	m := e.main()
	by := map[int]*pair{}
	for _, w := range e.Windows {
		p := by[w.Pair]
		if p == nil {
			p = &pair{N: w.Pair}
			by[w.Pair] = p
		}
		if w.Invalid != "" {
			p.Invalid = w.Invalid
		}
		if v, ok := w.Values[m.Name]; ok {
			if w.Variant == e.Baseline {
				p.Before = known.Of(v)
			} else {
				p.After = known.Of(v)
			}
		}
	}
	return each(slices.Sorted(maps.Keys(by)), func(n int) pair {
		p := *by[n]
		switch {
		case p.Invalid != "":
		case m.Better == Less:
			p.Ratio = quotient(p.After, p.Before)
		default:
			p.Ratio = quotient(p.Before, p.After)
		}
		return p
	})
}

func (e *Experiment) pairTable() table {
	m := e.main()
	t := table{Head: []string{"pair", e.Baseline, e.Variant, "ratio"}, Left: 1}
	for _, p := range e.pairs() {
		r := factorOf(p.Ratio)
		if p.Invalid != "" {
			r = "left out: " + p.Invalid
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(p.N), value(p.Before, m.Unit), value(p.After, m.Unit), r})
	}
	return t
}

func (d *Document) windows() table {
	e := d.Experiment
	t := table{Head: []string{"pair", "variant", "from", "length"}, Left: 2}
	for _, m := range e.Metrics {
		t.Head = append(t.Head, m.Title)
	}
	ws := slices.Clone(e.Windows)
	slices.SortStableFunc(ws, func(a, b Window) int { return a.From.Compare(b.From) })
	for _, w := range ws {
		row := []string{strconv.Itoa(w.Pair), w.Variant, d.offset(w.From), unit.Duration(w.To.Sub(w.From))}
		for _, m := range e.Metrics {
			if v, ok := w.Values[m.Name]; ok {
				row = append(row, quantity(v, m.Unit))
			} else {
				row = append(row, none)
			}
		}
		if w.Invalid != "" {
			row[1] += " (left out: " + w.Invalid + ")"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// offset writes a moment as its distance from the beginning of what the report is about.
func (d *Document) offset(at time.Time) string {
	if at.IsZero() {
		return none
	}
	if d.From.IsZero() {
		return at.UTC().Format(time.TimeOnly)
	}
	sec := at.Sub(d.From).Seconds()
	if math.Abs(sec) < 60 {
		return signed(strconv.FormatFloat(math.Abs(sec), 'f', 1, 64)+" s", sec)
	}
	return signed(unit.Seconds(math.Abs(sec)), sec)
}

func signed(s string, v float64) string {
	if v < 0 {
		return "−" + s
	}
	return "+" + s
}

// evidence is the table of a finding's measured facts, and those facts that are only text.
func evidence(f finding.Finding) (t table, facts []string) {
	t = table{Head: []string{"measured", "value", "expected", "source"}, Left: 1, Tail: 2}
	for _, e := range f.Evidence {
		x, ok := e.Value.Get()
		if !ok {
			facts = append(facts, reasonText(finding.Reason{Answer: cmp.Or(e.Text, e.What), Source: e.Source}))
			continue
		}
		v := quantity(x, e.Unit)
		if e.Sampled {
			v = "≈ " + v
		}
		t.Rows = append(t.Rows, []string{cmp.Or(e.What, e.Text), v, cmp.Or(e.Expected, none), string(e.Source)})
	}
	return t, facts
}

// unobserved are the sources that gave nothing.
func (d *Document) unobserved() []source.Source {
	return slices.DeleteFunc(slices.Clone(d.Sources), func(s source.Source) bool { return s.State == source.OK })
}

func sourceText(s source.Source) string {
	words := map[source.State]string{source.Missing: "unavailable", source.Slow: "too slow"}
	t := string(s.Name) + " " + cmp.Or(words[s.State], string(s.State))
	if s.Reason != "" {
		t += ": " + s.Reason
	}
	return t
}

// place lists where and when it happened.
func (d *Document) place() facts {
	var fs facts
	p := d.Place
	fs.add("target", p.Target)
	fs.add("address", p.URL)
	if p.Flavor != "" || p.Version != "" {
		fs.add("server", spaced(p.Flavor.Name(), p.Version))
	}
	if !d.From.IsZero() && !d.To.IsZero() {
		fs.add("time", stamp(d.From)+" to "+d.To.UTC().Format(time.TimeOnly)+" UTC ("+unit.Duration(d.To.Sub(d.From))+
			")")
	}
	fs = append(append(fs, p.Host...), p.Settings...)
	fs.add("Dyno", p.Dyno)
	return fs
}

func spaced(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// rowLimit is the most rows of figures that go with a chart.
const rowLimit = 240

// figures is the text alternative of a chart: its values over time. When there are more than rowLimit moments only
// every n-th is listed, and every tells n.
func (c Chart) figures(from, to time.Time) (t table, every int) {
	t = table{Head: []string{"s"}}
	at := map[int64][]string{}
	for i, l := range c.Lines {
		t.Head = append(t.Head, l.Name)
		for _, p := range within(l.Points, from, to) {
			if at[p.At] == nil {
				at[p.At] = slices.Repeat([]string{none}, len(c.Lines))
			}
			at[p.At][i] = bare(p.Value, c.Unit)
		}
	}
	times := slices.Sorted(maps.Keys(at))
	every = (len(times) + rowLimit - 1) / rowLimit
	for i, ms := range times {
		if i%max(1, every) == 0 {
			sec := strconv.FormatFloat(float64(ms-from.UnixMilli())/1000, 'f', 1, 64)
			t.Rows = append(t.Rows, append([]string{sec}, at[ms]...))
		}
	}
	return t, every
}

// summary describes a chart in one sentence, for those who do not see it.
func (c Chart) summary(from, to time.Time) string {
	s := c.Title
	for _, l := range c.Lines {
		ps := within(l.Points, from, to)
		if len(ps) == 0 {
			s += fmt.Sprintf("; %s: nothing measured", l.Name)
			continue
		}
		lo, hi, last := extremes(ps)
		s += fmt.Sprintf("; %s: from %s to %s, last %s", l.Name, quantity(lo, c.Unit), quantity(hi, c.Unit),
			quantity(last, c.Unit))
	}
	return s
}

// extremes are the smallest, the largest and the last value of points, of which there is one at least.
func extremes(ps []metric.Point) (lo, hi, last float64) {
	vs := each(ps, func(p metric.Point) float64 { return p.Value })
	return slices.Min(vs), slices.Max(vs), vs[len(vs)-1]
}

// headline is the big figure with its words.
type headline struct {
	Result   stat.Result
	Figure   string // "×237"
	Of       string // "queries per second"
	Interval string // "95 % interval ×229 to ×246, 6 pairs of windows"
	Margin   string // for same: "within ±5 % counts as the same"
}

// Sign is a sign for the result that needs no colour.
func (h headline) Sign() string { return cmp.Or(markFor(h.Result).Sign, "∅") }

// Class is the class of the page that the result has.
func (h headline) Class() string {
	if markFor(h.Result).Sign == "" {
		return "r-none"
	}
	return "r-" + string(h.Result)
}

func (d *Document) headline() (headline, bool) {
	v := d.Verdict
	if v == nil {
		return headline{}, false
	}
	if d.Comparison != nil {
		return comparisonHeadline(newComparison(d.Comparison), *v), true
	}
	m := MetricNamed(v.Metric)
	if d.Experiment != nil {
		m = d.Experiment.metric(v.Metric)
	}
	i := v.Ratio
	if i.N == 0 || v.Result == stat.Invalid {
		return newHeadline(*v, m.Title, "", "", ""), true
	}
	of := m.Title
	if m.Better == Less {
		of += " (above ×1 is better)"
	}
	samples := "n = " + strconv.Itoa(i.N)
	if d.Experiment != nil && len(d.Experiment.Windows) > 0 {
		samples = count(i.N, "pair", "pairs")
	}
	return newHeadline(*v, of, unit.Ratio(i.Center), unit.Ratio(i.Lo)+" to "+unit.Ratio(i.Hi), samples), true
}

// newHeadline is that of a verdict on a measure: its ratio, the bounds of it, and the samples behind it, "" where there
// are none.
func newHeadline(v stat.Verdict, of, ratio, bounds, samples string) headline {
	h := headline{Result: v.Result, Of: of}
	if v.Result == stat.Invalid {
		return h
	}
	if v.Margin > 0 {
		h.Margin = "ratios within ±" + unit.Percent(v.Margin) + " count as the same"
	}
	if h.Figure = ratio; bounds == "" {
		return h
	}
	if v.Result == stat.Unstable { // one figure would say more than is known
		h.Figure = bounds
	}
	h.Interval = unit.Percent(v.Ratio.Confidence) + " interval " + bounds + ", " + samples
	return h
}

func count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// method is how the experiment was done, in words.
func (e *Experiment) method() string {
	s := e.Text
	if e.WindowSec > 0 {
		s = spaced(s, fmt.Sprintf("Windows of %s, the first %s after each switch left out; the order within each "+
			"pair was drawn at random (seed %d).",
			unit.Seconds(e.WindowSec), unit.Seconds(e.SettleSec), e.Seed))
	}
	return s
}
