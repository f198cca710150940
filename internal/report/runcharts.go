package report

import (
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/run"
)

// RunCharts draws what a load saw from outside, second by second: throughput, latency and, where operations were due at
// moments of their own, how long they waited. A stub of a tick at the end has no rate to speak of and is left out.
func RunCharts(ticks []run.Tick) []Chart {
	var whole []run.Tick
	open := false
	for _, t := range ticks {
		if 2*t.Length >= time.Second {
			whole = append(whole, t)
			open = open || t.Open != nil
		}
	}
	cs := []Chart{Throughput(whole), Latency(whole)}
	if !open {
		return cs
	}
	var due, response, queue []metric.Point
	for _, t := range whole {
		at := t.At.Add(t.Length).UnixMilli()
		if h := t.Response(); h != nil && h.Count() > 0 {
			response = append(response, metric.Point{At: at, Value: h.Quantile(0.95).Seconds() * 1000})
		}
		if t.Open != nil {
			due = append(due, metric.Point{At: at, Value: float64(t.Open.Due) / t.Length.Seconds()})
			queue = append(queue, metric.Point{At: at, Value: float64(t.Open.Queue)})
		}
	}
	cs[0].Lines = append(cs[0].Lines, Line{Name: "due", Points: due})
	cs[1].Title = "Latency of an operation, from its first statement and from its scheduled start"
	cs[1].Lines = append(cs[1].Lines, Line{Name: "95 % from scheduled start", Points: response})
	return append(cs, Chart{
		Title: "Operations scheduled and not started", Unit: "operations",
		Lines: []Line{{Name: "queue", Points: queue}},
	})
}
