// Package workqueue stands in for the queues of a client of Kubernetes, which is not built in.
package workqueue

// A GaugeMetric goes up and down by one.
type GaugeMetric interface {
	Inc()
	Dec()
}

// A SettableGaugeMetric is set.
type SettableGaugeMetric interface{ Set(float64) }

// A CounterMetric goes up by one.
type CounterMetric interface{ Inc() }

// A HistogramMetric is told values.
type HistogramMetric interface{ Observe(float64) }

// SetProvider keeps nothing: there are no queues.
func SetProvider(any) {}
