package report

import (
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
)

// RunCharts draws what a load saw from outside, second by second: throughput, latency and, where operations were due at
// moments of their own, how long they waited. A tick without an operation is a measured zero; a latency is known only
// where one ended. A stub of a tick at the end has no rate to speak of and is left out.
func RunCharts(ticks []loadresult.Tick) []Chart {
	ticks = slices.DeleteFunc(slices.Clone(ticks), func(t loadresult.Tick) bool { return 2*t.Length < time.Second })
	line := func(name string, value func(loadresult.Tick) (v float64, ok bool)) Line {
		l := Line{Name: name}
		for _, t := range ticks {
			if v, ok := value(t); ok {
				l.Points = append(l.Points, metric.Point{At: t.At.Add(t.Length).UnixMilli(), Value: v})
			}
		}
		return l
	}
	quantile := func(name string, q float64, of func(loadresult.Tick) *hist.Histogram) Line {
		return line(name, func(t loadresult.Tick) (float64, bool) {
			if h := of(t); h != nil && h.Count() > 0 {
				return h.Quantile(q).Seconds() * 1000, true
			}
			return 0, false
		})
	}
	latency := func(t loadresult.Tick) *hist.Histogram { return t.Latency() }
	throughput := Chart{Title: "Throughput", Unit: "operations/s", Lines: []Line{
		line("operations", func(t loadresult.Tick) (float64, bool) { return t.TPS(), true }),
	}}
	latencies := Chart{Title: "Latency of an operation", Unit: "ms", Lines: []Line{
		quantile("95th percentile", 0.95, latency), quantile("median", 0.5, latency),
	}}
	if !slices.ContainsFunc(ticks, func(t loadresult.Tick) bool { return t.Open != nil }) {
		return []Chart{throughput, latencies}
	}
	open := func(name string, value func(loadresult.Tick) float64) Line {
		return line(name, func(t loadresult.Tick) (float64, bool) {
			if t.Open == nil {
				return 0, false
			}
			return value(t), true
		})
	}
	throughput.Lines = append(throughput.Lines,
		open("due", func(t loadresult.Tick) float64 { return float64(t.Open.Due) / t.Length.Seconds() }))
	latencies.Title += ", from its first statement and from its scheduled start"
	latencies.Lines = append(latencies.Lines, quantile("95 % from scheduled start", 0.95,
		func(t loadresult.Tick) *hist.Histogram { return t.Response() }))
	return []Chart{throughput, latencies, {
		Title: "Operations scheduled and not started",
		Unit:  "operations", Lines: []Line{
			open("queue", func(t loadresult.Tick) float64 { return float64(t.Open.Queue) }),
		},
	}}
}
