package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// newMemory reads the memory that the server has taken, by what it is for:
//
//	mysql_perf_schema_memory_events_alloc_bytes_total{event_name}
//	mysql_perf_schema_memory_events_free_bytes_total{event_name}
//	mysql_perf_schema_memory_events_used_bytes{event_name}
//
// It goes below zero for memory that was taken before its instrument was switched on and given back after.
func newMemory(q querier, acc account) *summary {
	return &summary{
		q: q, acc: acc, name: source.Memory, grant: pfsPrivilege, pfs: true, asks: "memory/%",
		tables: []table{{
			schema: "performance_schema", name: "memory_summary_global_by_event_name",
			// without memory/, as the exporter has it
			keys: []key{{"EVENT_NAME", "event_name", "SUBSTRING(EVENT_NAME,8)"}},
			columns: []column{
				{
					"SUM_NUMBER_OF_BYTES_ALLOC", "mysql_perf_schema_memory_events_alloc_bytes_total",
					metric.Counter, 0, "",
				},
				{"SUM_NUMBER_OF_BYTES_FREE", "mysql_perf_schema_memory_events_free_bytes_total", metric.Counter, 0, ""},
				{"CURRENT_NUMBER_OF_BYTES_USED", "mysql_perf_schema_memory_events_used_bytes", metric.Gauge, 0, ""},
			},
			where: "COUNT_ALLOC>0",
		}},
	}
}

// newMemoryUsers reads the memory that is in use now, by user; the server's own threads are the user "background":
//
//	dyno_memory_user_bytes{user}
func newMemoryUsers(q querier, acc account) *summary {
	return &summary{
		q: q, acc: acc, name: source.MemoryUsers, grant: pfsPrivilege, pfs: true,
		asks: "memory/%", tables: []table{{
			schema: "performance_schema", name: "memory_summary_by_user_by_event_name", group: true,
			keys:    []key{{"USER", "user", "IFNULL(USER,'background')"}},
			columns: []column{{"CURRENT_NUMBER_OF_BYTES_USED", "dyno_memory_user_bytes", metric.Gauge, 0, ""}},
			where:   "COUNT_ALLOC>0", order: "2 DESC", limit: 20,
		}},
	}
}
