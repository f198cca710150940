package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// newStages reads how long statements spent in each of their stages, where stages are counted; MySQL counts only those
// of ALTER unasked:
//
//	mysql_perf_schema_events_stages_total{event_name}
//	mysql_perf_schema_events_stages_seconds_total{event_name}
func newStages(q querier, acc account) *summary {
	return &summary{
		q: q, acc: acc, name: source.Stages, grant: pfsPrivilege, pfs: true, asks: "stage/%",
		tables: []table{{
			schema: "performance_schema", name: "events_stages_summary_global_by_event_name",
			keys: []key{{"EVENT_NAME", "event_name", ""}},
			columns: []column{
				{"COUNT_STAR", "mysql_perf_schema_events_stages_total", metric.Counter, 0, ""},
				{"SUM_TIMER_WAIT", "mysql_perf_schema_events_stages_seconds_total", metric.Counter, picoseconds, ""},
			},
			where: "COUNT_STAR>0",
		}},
	}
}
