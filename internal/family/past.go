package family

import "github.com/dyno-perf/dyno/internal/metric"

// Tidier is a Family whose looks change what the sources of metrics gave. Tidy does that with the series of a window
// that were stored; those of other families are only made small.
type Tidier interface {
	Tidy(series []metric.Series) []metric.Series
}
