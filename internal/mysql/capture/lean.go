package capture

import (
	"math"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// smallMemory is up to where what performance_schema counts of the server's memory for one purpose is too little to
// matter to anybody: there are hundreds of purposes.
const smallMemory = 256 << 10

// lean is snapshot.Lean with what it knows of MySQL's series. Of performance_schema, where there is a
// series for each of hundreds of events, those that did not happen in the window go (what is counted by table and index
// stays: that an index is not used is told by this), and memory that does not matter.
func lean(series []metric.Series) []metric.Series {
	series = slices.DeleteFunc(series, func(x metric.Series) bool {
		switch {
		case len(x.Points) == 0:
			return true
		case x.Name == "mysql_perf_schema_memory_events_used_bytes":
			return !slices.ContainsFunc(x.Points, func(p metric.Point) bool { return math.Abs(p.Value) >= smallMemory })
		case strings.HasPrefix(x.Name, "mysql_perf_schema_memory_events_"):
			return snapshot.Still(x) || x.Points[len(x.Points)-1].Value-x.Points[0].Value < smallMemory
		case strings.HasPrefix(x.Name, "mysql_perf_schema_events_waits_"),
			strings.HasPrefix(x.Name, "mysql_perf_schema_file_events_"):
			return len(x.Points) > 1 && snapshot.Still(x)
		}
		return false
	})
	return snapshot.Lean(series)
}

// Tidy gives series that were stored while a server was watched the form that those of an observed window have.
func Tidy(series []metric.Series) []metric.Series { return lean(clientsOnly(series)) }

// clientsOnly puts the status of clients in the place of the server's totals: judgement is about what others do, not
// about what Dyno does to look.
func clientsOnly(series []metric.Series) []metric.Series {
	by := map[string][]metric.Series{} // by the name of what they replace
	for _, x := range series {
		if (x.Name == metric.ClientStatus || x.Name == metric.ClientStatusTotal) && len(x.Points) > 1 {
			c := sources.StatusSeries(x.Labels.Get("variable"))
			c.Points = x.Points
			by[c.Name] = append(by[c.Name], c)
		}
	}
	series = slices.DeleteFunc(series, func(x metric.Series) bool {
		return x.Name == metric.ClientStatus ||
			x.Name == metric.ClientStatusTotal
	})
	for i, x := range series {
		for _, c := range by[x.Name] {
			if c.Labels.Compare(x.Labels) == 0 {
				series[i].Points = c.Points
			}
		}
	}
	return series
}
