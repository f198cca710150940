package report

import (
	"cmp"
	"slices"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/run"
)

// MetricNamed returns what is known about the metrics that Dyno's own experiments measure: qps, tps, p95_ms, median_ms,
// server_cpu_cores and rows_read_per_s. Of any other name only the name is known.
func MetricNamed(name string) Metric {
	for _, m := range []Metric{
		{"qps", "queries per second", "1/s", More},
		{"tps", "operations per second", "1/s", More},
		{"p95_ms", "latency, 95th percentile", "ms", Less},
		{"median_ms", "latency, median", "ms", Less},
		{"server_cpu_cores", "CPU used by the server", "cores", Neither},
		{"rows_read_per_s", "rows read by the engine", "rows/s", Neither},
	} {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name, Title: name}
}

// Metrics is MetricNamed for several names.
func Metrics(names ...string) []Metric {
	ms := make([]Metric, len(names))
	for i, n := range names {
		ms[i] = MetricNamed(n)
	}
	return ms
}

// MeasuresOf returns the figures of an experiment before and after: for each metric the median over the valid windows
// of the baseline and of the variant. A metric that no valid window of a side measured is unknown there.
func MeasuresOf(e *Experiment) []Measure {
	median := func(variant, name string) known.Value[float64] {
		var vs []float64
		for _, w := range e.Windows {
			if v, ok := w.Values[name]; ok && w.Variant == variant && w.Invalid == "" {
				vs = append(vs, v)
			}
		}
		if len(vs) == 0 {
			return known.None[float64]()
		}
		slices.Sort(vs)
		return known.Of((vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2)
	}
	ms := make([]Measure, len(e.Metrics))
	for i, m := range e.Metrics {
		ms[i] = Measure{Metric: m, Before: median(e.Baseline, m.Name), After: median(e.Variant, m.Name)}
	}
	return ms
}

// FiguresOf returns what a class did in a window of the given seconds, of which all classes together spent totalSec
// executing.
func FiguresOf(c class.Class, seconds, totalSec float64) ClassFigures {
	f := ClassFigures{
		MeanSec: c.MeanSec(), P95Sec: c.P95Sec, Examined: c.PerCall(c.Examined),
		Sent: c.PerCall(c.RowsSent),
	}
	if seconds > 0 && !c.Sampled { // a sampled count is a lower bound, not a rate
		f.PerSec = known.Of(float64(c.Count) / seconds)
	}
	if totalSec > 0 {
		f.Share = known.Of(c.TimeSec / totalSec)
	}
	return f
}

// ClassesOf joins the classes of two windows by their databases and ids, the class with the larger share of time on
// either side first. With ids given, only those are in it.
func ClassesOf(before []class.Class, beforeSec float64, after []class.Class, afterSec float64,
	ids ...string,
) []ClassChange {
	var out []ClassChange
	add := func(cs []class.Class, seconds float64, side func(*ClassChange, *ClassFigures)) {
		var total float64
		for _, c := range cs {
			total += c.TimeSec
		}
		for _, c := range cs {
			if len(ids) > 0 && !slices.Contains(ids, c.ID) {
				continue
			}
			i := slices.IndexFunc(out, func(x ClassChange) bool { return x.ID == c.ID && x.Schema == c.Schema })
			if i < 0 {
				i = len(out)
				out = append(out, ClassChange{ID: c.ID, Fingerprint: c.Fingerprint, Schema: c.Schema, Origin: c.Origin})
			}
			out[i].Sampled = out[i].Sampled || c.Sampled
			f := FiguresOf(c, seconds, total)
			side(&out[i], &f)
		}
	}
	add(before, beforeSec, func(c *ClassChange, f *ClassFigures) { c.Before = f })
	add(after, afterSec, func(c *ClassChange, f *ClassFigures) { c.After = f })
	share := func(c ClassChange) (s float64) {
		for _, f := range []*ClassFigures{c.Before, c.After} {
			if f != nil {
				s = max(s, f.Share.Or(0)) // only the order depends on it
			}
		}
		return s
	}
	slices.SortStableFunc(out, func(a, b ClassChange) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Schema, b.Schema))
	})
	return out
}

// ChangeOf returns the change that a journal entry records. The command to take it back is only there while it can be.
func ChangeOf(e journal.Entry, text string) AppliedChange {
	c := AppliedChange{
		Text: text, SQL: e.Action.SQL, Undo: e.Action.Undo, Journal: e.ID, By: e.By,
		State: e.State, Notes: e.Notes,
	}
	if e.State == journal.Done {
		c.UndoCommand = "dyno undo " + e.ID + " --execute"
	}
	if !e.Started.IsZero() && e.Ended.After(e.Started) {
		c.TookSec = known.Of(e.Ended.Sub(e.Started).Seconds())
	}
	return c
}

// Throughput charts the completed operations per second of a run. A tick without any is a measured zero.
func Throughput(ticks []run.Tick) Chart {
	var ps []metric.Point
	for _, t := range ticks {
		if t.Length > 0 {
			ps = append(ps, metric.Point{At: t.At.Add(t.Length).UnixMilli(), Value: t.TPS()})
		}
	}
	return Chart{Title: "Throughput", Unit: "operations/s", Lines: []Line{{Name: "operations", Points: ps}}}
}

// Latency charts the 95th percentile and the median of the operations that ended within each tick of a run, in
// milliseconds. A tick in which none ended has no point: nothing was measured.
func Latency(ticks []run.Tick) Chart {
	var p95, median []metric.Point
	for _, t := range ticks {
		h := t.Latency()
		if h.Count() == 0 {
			continue
		}
		at := t.At.Add(t.Length).UnixMilli()
		p95 = append(p95, metric.Point{At: at, Value: h.Quantile(0.95).Seconds() * 1000})
		median = append(median, metric.Point{At: at, Value: h.Quantile(0.5).Seconds() * 1000})
	}
	return Chart{
		Title: "Latency of an operation", Unit: "ms",
		Lines: []Line{{"95th percentile", p95}, {"median", median}},
	}
}
