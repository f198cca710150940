package report

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/known"
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
		{callTime, "time per call, before ÷ after", "s", Less},
		{"rows_read_per_s", "rows read by the engine", "rows/s", Neither},
	} {
		if m.Name == name {
			return m
		}
	}
	return Metric{Name: name, Title: name}
}

// Metrics is MetricNamed for several names.
func Metrics(names ...string) []Metric { return each(names, MetricNamed) }

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
	return each(e.Metrics, func(m Metric) Measure {
		return Measure{Metric: m, Before: median(e.Baseline, m.Name), After: median(e.Variant, m.Name)}
	})
}
