package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// GraphQuery says which graphs of a target are wanted.
type GraphQuery struct {
	Target   string
	From, To time.Time
	Points   int // the most that each line may have, when Step is 0
	// of whole seconds; beyond a minute, and where seconds are not kept any more, it is rounded up to whole minutes
	Step    time.Duration
	Panels  []string      // ids; none: all
	Compare time.Duration // how long before the same lines are wanted too; 0: they are not
}

// Graphs are lines in equal steps: point i is of the time from From+i*Step to From+(i+1)*Step, in seconds of Unix time.
// What is not known is NaN.
type Graphs struct {
	Target         string
	From, To, Step int64
	Panels         []GraphPanel
}

// GraphPanel is a panel with its figures. A line of the panel By a label has become several here.
type GraphPanel struct {
	panel.Panel
	Lines []GraphLine
}

// GraphLine is one line: of each step the true mean (of a counter: how much it grew, by the time of which that is
// known), and the least and greatest of the single seconds where they are known and not the mean.
type GraphLine struct {
	panel.Line
	Expr           string // PromQL that gives the same
	Mean, Min, Max []float64
	Compare        []float64
	Unknown        string // why nothing is known
}

// UnknownPanelError tells that no panel has that id.
type UnknownPanelError struct{ ID string }

func (e *UnknownPanelError) Error() string { return fmt.Sprintf("there is no panel %q", e.ID) }

// steps are the lengths of a point, in seconds; those from a minute on are whole minutes.
var steps = []int64{
	1, 2, 3, 5, 6, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600,
	43200, 86400, 172800, 604800,
}

// stepFor returns the shortest step that gives at most n points.
func stepFor(span time.Duration, n int) int64 {
	for _, s := range steps {
		if int64(math.Ceil(span.Seconds()/float64(s))) <= int64(n) {
			return s
		}
	}
	return steps[len(steps)-1]
}

// Bounds of an answer, whatever is asked for.
const (
	maxPoints = 4000
	// maxCells bounds what a line is worked out from: these are 728 days of minutes, 8 MiB for each list of figures.
	maxCells = 1 << 20
)

// Metrics are the figures of targets over time, out of the store of series.
type Metrics struct {
	series *series.Store
	fleet  *Fleet
	ledger *ledger.Ledger
}

// ErrGraphSize is the answer to a query whose graphs would be too large.
var ErrGraphSize = errors.New("too much for one answer")

// Graphs works out the lines of panels. The window is widened to whole steps. An unknown panel is an
// *UnknownPanelError, too many points or too long a time ErrGraphSize.
func (s *Metrics) Graphs(ctx context.Context, q GraphQuery) (Graphs, error) {
	panels, err := s.choose(ctx, q.Target, q.Panels)
	if err != nil {
		return Graphs{}, err
	}
	step := int64(q.Step / time.Second)
	if step <= 0 {
		step = stepFor(q.To.Sub(q.From), max(q.Points, 1))
	}
	if step < 60 {
		old, err := s.dropped(ctx, q.From.Unix())
		if err != nil {
			return Graphs{}, err
		}
		if old {
			step = 60
		}
	}
	if step > 60 { // a long time is read by the minute, whatever its points are asked to be
		step = (step + 59) / 60 * 60
	}
	from := floorTo(q.From.Unix(), step)
	to := max(floorTo(q.To.Unix()+step-1, step), from+step)
	if n := (to - from) / step; n > maxPoints {
		return Graphs{}, fmt.Errorf("draw %d points: %w, the maximum is %d", n, ErrGraphSize, maxPoints)
	}
	if (to-from)/60 > maxCells {
		return Graphs{}, fmt.Errorf("draw steps of %d s over %d days: %w, the maximum is %d days", step,
			(to-from)/86400, ErrGraphSize, maxCells*60/86400)
	}
	g := Graphs{Target: q.Target, From: from, To: to, Step: step}
	sources := s.sourcesOf(q.Target)
	lines, err := s.trace(ctx, q.Target, from, to, step, panels, true)
	if err != nil {
		return g, err
	}
	var before [][]GraphLine
	if back := int64(q.Compare / time.Second); back > 0 {
		if before, err = s.compared(ctx, q.Target, from-back, to-back, step, panels); err != nil {
			return g, err
		}
	}
	for i, p := range panels {
		for j := range lines[i] {
			l := &lines[i][j]
			if l.Unknown != "" {
				l.Unknown = whyUnknown(l.Line, sources)
			}
			if before != nil {
				l.compare(before[i])
			}
		}
		g.Panels = append(g.Panels, GraphPanel{p, lines[i]})
	}
	return g, nil
}

// compare gives the line what the line of its name was in the time before.
func (l *GraphLine) compare(before []GraphLine) {
	i := slices.IndexFunc(before, func(b GraphLine) bool { return b.Name == l.Name && b.Unknown == "" })
	if i >= 0 {
		l.Compare = before[i].Mean
	}
}

// ratePoints is how many steps StatementRate takes the mean of.
const ratePoints = 60

// StatementRate returns how many statements a second a server counted in a window, on average over what was read of it:
// what the graph of its throughput shows. Unknown where nothing was read.
func (s *Metrics) StatementRate(ctx context.Context, target string, from, to time.Time) (known.Value[float64], error) {
	none := known.None[float64]()
	if s.series == nil || !from.Before(to) {
		return none, nil
	}
	g, err := s.Graphs(ctx, GraphQuery{
		Target: target, From: from, To: to, Points: ratePoints,
		Panels: []string{panel.Throughput},
	})
	if errors.Is(err, ErrGraphSize) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	sum, n := 0.0, 0
	for _, v := range g.Panels[0].Lines[0].Mean {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return none, nil
	}
	return known.Of(sum / float64(n)), nil
}

// choose returns the panels with these ids of a target's family, all of them without ids.
func (s *Metrics) choose(ctx context.Context, target string, ids []string) ([]panel.Panel, error) {
	all := s.fleet.Family(ctx, target).Panels()
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(p panel.Panel) bool { return p.ID == id }) {
			if _, other := panel.Find(app.Panels(), id); !other {
				return nil, &UnknownPanelError{id}
			}
		}
	}
	return slices.DeleteFunc(all, func(p panel.Panel) bool { return !slices.Contains(ids, p.ID) }), nil
}

func floorTo(t, step int64) int64 { return t - ((t%step)+step)%step }

func (s *Metrics) sourcesOf(target string) map[source.Name]source.Source {
	m, ok := s.fleet.Find(target)
	if !ok {
		return nil
	}
	by := make(map[source.Name]source.Source, len(m.Sources))
	for _, x := range m.Sources {
		by[x.Name] = x
	}
	return by
}

// whyUnknown tells why a line has no figures, and what would mend it.
func whyUnknown(l panel.Line, sources map[source.Name]source.Source) string {
	x, ok := sources[l.Source]
	if ok && x.State != source.OK {
		why := x.Reason
		if x.Fix != "" {
			why += "; " + x.Fix
		}
		if why != "" {
			return why
		}
	}
	if l.Unknown != "" {
		return l.Unknown
	}
	return "no data in this time range"
}

// lookBehind is how long before a window samples are read: what a counter grew within its first second needs the one
// before, and what is read each ten seconds holds until the next time.
const lookBehind = 30_000

// weaver works out lines of one window.
type weaver struct {
	ctx     context.Context
	r       *series.Reader
	target  string
	t       *panel.Tracer
	coarse  bool  // cells are minutes
	minutes int64 // up to where they are read from the level of minutes
	// seconds in which there was no server: what is read rarely would bridge them; nil where cells are minutes
	down []bool
	err  error
}

// trace returns the lines of each panel; those that have nothing have some text as Unknown.
func (s *Metrics) trace(ctx context.Context, target string, from, to, step int64, panels []panel.Panel,
	ranges bool,
) (out [][]GraphLine, err error) {
	w := &weaver{ctx: ctx, target: target}
	lo, hi := from*1000, to*1000
	if w.r, err = s.series.Reader(lo-4*series.Minute, hi); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.r.Close()) }()
	cell := int64(1000)
	if oldest, ok := w.r.Oldest(); step%60 == 0 && (hi-lo >= series.LongSpan.Milliseconds() || !ok ||
		lo < oldest-series.Minute) {
		w.coarse, cell = true, series.Minute
		if w.minutes, err = w.r.MinutesUntil(ctx); err != nil {
			return nil, err
		}
		w.minutes = min(w.minutes, hi)
	}
	w.t = panel.NewTracer(panel.Grid{From: lo, Cell: cell, N: int((hi - lo) / cell)})
	w.down = w.without()
	window := promWindow(step)
	k := int(step * 1000 / cell)
	for _, p := range panels {
		lines := make([]GraphLine, 0, len(p.Lines))
		for _, l := range p.Lines {
			x := GraphLine{Line: l, Expr: l.Ways[0].Expr(target, window)}
			if l.By != "" {
				split := w.split(l, k, window)
				if w.err != nil {
					return nil, w.err
				}
				if len(split) == 0 {
					x.Unknown = "unknown"
					split = append(split, x)
				}
				lines = append(lines, split...)
				continue
			}
			for _, way := range l.Ways {
				var ok bool
				if x.Mean, x.Min, x.Max, ok = w.buckets(way, k); w.err != nil {
					return nil, w.err
				} else if ok {
					x.Expr = way.Expr(target, window)
					break
				}
			}
			if x.Mean == nil {
				x.Unknown = "unknown"
			}
			if !ranges {
				x.Min, x.Max = nil, nil
			}
			lines = append(lines, x)
		}
		out = append(out, lines)
	}
	return out, nil
}

// dropped reports whether of a moment only minutes are kept.
func (s *Metrics) dropped(ctx context.Context, second int64) (old bool, err error) {
	r, err := s.series.Reader(second*1000, second*1000)
	if err != nil {
		return false, err
	}
	old, err = r.Dropped(ctx, second*1000)
	return old, errors.Join(err, r.Close())
}

// compared is trace for lines that are drawn beside others: in the same steps, also where only minutes are kept. A step
// then has the figures of the minute that its middle lies in.
func (s *Metrics) compared(ctx context.Context, target string, from, to, step int64,
	panels []panel.Panel,
) ([][]GraphLine, error) {
	old := false
	if step < 60 {
		var err error
		if old, err = s.dropped(ctx, from); err != nil {
			return nil, err
		}
	}
	if !old {
		return s.trace(ctx, target, from, to, step, panels, false)
	}
	lo := floorTo(from, 60)
	out, err := s.trace(ctx, target, lo, floorTo(to+59, 60), 60, panels, false)
	for _, lines := range out {
		for i, l := range lines {
			if l.Unknown != "" {
				continue
			}
			fine := make([]float64, (to-from)/step)
			for j := range fine {
				fine[j] = l.Mean[(from+int64(j)*step+step/2-lo)/60]
			}
			lines[i].Mean = fine
		}
	}
	return out, err
}

// promWindow returns over how long rates in PromQL are taken: a step, and not less than what sources that are read
// rarely need.
func promWindow(step int64) string { return fmt.Sprintf("%ds", max(step, 60)) }

// buckets works out the points of a way, each of k cells; not ok when it has nothing.
func (w *weaver) buckets(x panel.Way, k int) (mean, low, high []float64, ok bool) {
	if x.Most {
		return w.most(x, k)
	}
	a, over, ok := w.way(x)
	if !ok {
		return nil, nil, nil, false
	}
	mean, low, high = panel.Buckets(a, over, k, x.Scale, !w.coarse)
	return mean, low, high, true
}

// most works out the points of each series and takes the largest of them: of two disks that take turns neither is
// always busy.
func (w *weaver) most(x panel.Way, k int) (mean, low, high []float64, ok bool) {
	n := 0
	w.each(x.Terms[0], func(metric.Labels) {
		c := w.t.None()
		w.t.Add(&c)
		m, l, h := panel.Buckets(c, nil, k, x.Scale, !w.coarse)
		if n++; n == 1 {
			mean, low, high = m, l, h
			return
		}
		low, high = nil, nil // when which was the largest is not known by then
		for i, v := range m {
			if v > mean[i] || mean[i] != mean[i] {
				mean[i] = v
			}
		}
	})
	return mean, low, high, w.err == nil && panel.Course{Mean: mean}.Known()
}

// way works out a way; not ok when it has nothing.
func (w *weaver) way(x panel.Way) (a panel.Course, over *panel.Course, ok bool) {
	a, ok = w.sum(x.Terms)
	if !ok && x.Zero != "" && w.err == nil {
		if a, ok = w.term(panel.Term{Name: x.Zero}); ok {
			for i, v := range a.Mean {
				a.Mean[i] = v * 0 // where nothing was read it stays unknown
			}
			a.Low, a.High = nil, nil
		}
	} else if ok && x.Zero != "" {
		z, found := w.term(panel.Term{Name: x.Zero})
		for i := range a.Mean {
			if found && a.Mean[i] != a.Mean[i] {
				a.Mean[i] = z.Mean[i] * 0
			}
		}
		a.Low, a.High = nil, nil
	}
	if !ok || len(x.Per) == 0 {
		return a, nil, ok
	}
	b, ok := w.sum(x.Per)
	return a, &b, ok
}

func (w *weaver) sum(ts []panel.Term) (panel.Course, bool) {
	var all panel.Course
	for i, t := range ts {
		c, ok := w.term(t)
		if !ok {
			return all, false
		}
		if i == 0 {
			all = c
			continue
		}
		all = panel.Plus(all, c, t.Minus)
	}
	return all, all.Known()
}

// term works out the course of the series of a term, and is not ok when there is none.
func (w *weaver) term(x panel.Term) (c panel.Course, ok bool) {
	n := 0
	w.each(x, func(metric.Labels) {
		if n++; n == 1 {
			c = w.t.None()
		}
		if w.t.Add(&c); n == 1 && w.coarse && !x.Rate {
			w.t.Extremes(&c)
		} else {
			c.Low, c.High = nil, nil
		}
	})
	return c, n > 0
}

// ups names the series that say whether a server answered, of each family.
func ups() (names []string) {
	for _, f := range app.Families() {
		names = append(names, f.Up())
	}
	return names
}

// without returns the seconds in which the server did not answer.
func (w *weaver) without() (down []bool) {
	if w.coarse {
		return nil
	}
	down = make([]bool, w.t.N)
	ms := []series.Match{
		{Label: "__name__", Op: "=~", Value: strings.Join(ups(), "|")},
		{Label: "target", Op: "=", Value: w.target},
	}
	w.fail(w.r.Seconds(w.ctx, w.t.From, w.t.To(), ms, func(s metric.Series) {
		for _, p := range s.Points {
			if i := (p.At - w.t.From - 1) / w.t.Cell; p.Value == 0 && i >= 0 && i < int64(len(down)) {
				down[i] = true
			}
		}
	}))
	return down
}

// split works out a line By a label: the values with the most first, the others together last. It keeps points only,
// not what they are worked out from, since a label may have hundreds of values.
func (w *weaver) split(l panel.Line, k int, window string) []GraphLine {
	type part struct {
		value string
		mean  []float64
		total float64
	}
	way, by := l.Ways[0], map[string]*part{}
	add := func(to, v []float64) {
		for i, x := range v {
			if to[i] != to[i] {
				to[i] = x
			} else if x == x {
				to[i] += x
			}
		}
	}
	w.each(way.Terms[0], func(labels metric.Labels) {
		c := w.t.None()
		w.t.Add(&c)
		mean, _, _ := panel.Buckets(c, nil, k, way.Scale, !w.coarse)
		value := labels.Get(l.By)
		p := by[value]
		if p == nil {
			by[strings.Clone(value)] = &part{value: strings.Clone(value), mean: mean}
			return
		}
		add(p.mean, mean)
	})
	var parts []*part
	for _, p := range by {
		for _, v := range p.mean {
			if v == v {
				p.total += v
			}
		}
		if p.total > 0 { // what stood still is no line
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(b.total, a.total), strings.Compare(a.value, b.value))
	})
	shorts := map[string]int{}
	for _, p := range parts {
		shorts[panel.Short(p.value)]++
	}
	var out []GraphLine
	for i, p := range parts {
		if i == panel.Most && len(parts) > panel.Most+1 {
			rest := GraphLine{Line: l, Expr: way.Expr(w.target, window), Mean: p.mean}
			for _, q := range parts[i+1:] {
				add(rest.Mean, q.mean)
			}
			for _, x := range out {
				rest.Expr += " - " + x.Expr
			}
			return append(out, rest)
		}
		of := l.Of(p.value)
		if short := panel.Short(p.value); shorts[short] == 1 {
			of.Name = short
		}
		out = append(out, GraphLine{Line: of, Expr: of.Ways[0].Expr(w.target, window), Mean: p.mean})
	}
	return out
}

// each traces every series of a term and calls f with its labels then.
func (w *weaver) each(x panel.Term, f func(metric.Labels)) {
	w.t.Out(w.down)
	if slices.Contains(ups(), x.Name) || strings.HasPrefix(x.Name, "node_") { // the machine goes on without the server
		w.t.Out(nil)
	}
	ms := make([]series.Match, 0, 2+len(x.Match))
	ms = append(ms, series.Match{Label: "__name__", Op: "=", Value: x.Name}, series.Match{
		Label: "target",
		Op:    "=", Value: w.target,
	})
	for _, m := range x.Match {
		ms = append(ms, series.Match(m))
	}
	if !w.coarse {
		w.fail(w.r.Seconds(w.ctx, w.t.From-lookBehind, w.t.To(), ms, func(s metric.Series) {
			w.t.Begin()
			if x.Rate {
				w.t.Rate(s.Points, 0)
			} else {
				w.t.Gauge(s.Points)
			}
			f(s.Labels)
		}))
		return
	}
	for _, l := range w.long(x.Rate, ms) {
		w.t.Begin()
		if x.Rate {
			w.t.Rate(l.kept, longGap)
		} else {
			w.t.GaugeMinutes(l.kept, l.means)
			w.t.Since(w.minutes)
			w.t.Gauge(l.tail)
		}
		f(l.labels)
	}
}

func (w *weaver) fail(err error) { w.err = errors.Join(w.err, err) }

// longGap is how far apart two samples may be that the level of minutes keeps of a series which is read all the time:
// the last of a minute's begin and the first of the next one's end, and some patience.
const longGap = 150_000

// long is a series over a long time: what minutes keep of it, and the seconds since.
type long struct {
	labels            metric.Labels
	kept, means, tail []metric.Point
}

// long reads the minutes, and the seconds of which there are none yet.
func (w *weaver) long(rate bool, ms []series.Match) []*long {
	lo, hi := w.t.From, w.t.To()
	var all []*long
	by := map[string]*long{}
	find := func(s metric.Series) *long {
		key := ""
		for _, l := range s.Labels {
			key += l.Name + "\x00" + l.Value + "\x00"
		}
		x := by[key]
		if x == nil {
			x = &long{labels: slices.Clone(s.Labels)}
			by[key] = x
			all = append(all, x)
		}
		return x
	}
	tail := lo - 2*series.Minute
	if w.minutes > lo {
		w.fail(w.r.Minutes(w.ctx, tail, w.minutes, ms, func(s metric.Series, means []metric.Point) {
			x := find(s)
			x.kept = append(x.kept, s.Points...)
			x.means = append(x.means, means...)
		}))
		if tail = w.minutes + 1; !rate {
			tail -= lookBehind
		}
	}
	if tail < hi {
		w.fail(w.r.Seconds(w.ctx, tail, hi, ms, func(s metric.Series) {
			x := find(s)
			if rate {
				x.kept = append(x.kept, s.Points...)
			} else {
				x.tail = append(x.tail, s.Points...)
			}
		}))
	}
	return all
}
