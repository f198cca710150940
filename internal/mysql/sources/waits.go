package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// newWaits reads what sessions and threads waited for, by event:
//
//	mysql_perf_schema_events_waits_total{event_name}
//	mysql_perf_schema_events_waits_seconds_total{event_name}
//
// MySQL counts files, tables and network unasked; mutexes and the like only when their instruments are switched on.
func newWaits(q querier, acc account) *summary {
	return &summary{
		q: q, acc: acc, name: source.Waits, grant: pfsPrivilege, pfs: true, asks: "wait/%",
		tables: []table{{
			schema: "performance_schema", name: "events_waits_summary_global_by_event_name",
			keys: []key{{"EVENT_NAME", "event_name", ""}},
			columns: []column{
				{"COUNT_STAR", "mysql_perf_schema_events_waits_total", metric.Counter, 0, ""},
				{"SUM_TIMER_WAIT", "mysql_perf_schema_events_waits_seconds_total", metric.Counter, picoseconds, ""},
			},
			where: "COUNT_STAR>0",
		}},
	}
}

// pfsPrivilege is what reading performance_schema needs.
const pfsPrivilege = "SELECT ON performance_schema.*"
