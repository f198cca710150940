package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// newFileIO reads the input and output of files by kind of file and mode (read, write, misc: open, close, fsync, stat):
//
//	mysql_perf_schema_file_events_total{event_name,mode}
//	mysql_perf_schema_file_events_seconds_total{event_name,mode}
//	mysql_perf_schema_file_events_bytes_total{event_name,mode}
func newFileIO(q querier, acc account) *summary {
	t := table{
		schema: "performance_schema", name: "file_summary_by_event_name",
		keys:  []key{{"EVENT_NAME", "event_name", ""}},
		where: "COUNT_STAR>0",
	}
	for _, m := range []struct{ mode, column string }{{"read", "READ"}, {"write", "WRITE"}, {"misc", "MISC"}} {
		t.columns = append(t.columns,
			column{"COUNT_" + m.column, "mysql_perf_schema_file_events_total", metric.Counter, 0, "mode=" + m.mode},
			column{
				"SUM_TIMER_" + m.column, "mysql_perf_schema_file_events_seconds_total", metric.Counter,
				picoseconds, "mode=" + m.mode,
			})
		if m.mode != "misc" {
			t.columns = append(t.columns,
				column{
					"SUM_NUMBER_OF_BYTES_" + m.column, "mysql_perf_schema_file_events_bytes_total",
					metric.Counter, 0, "mode=" + m.mode,
				})
		}
	}
	return &summary{
		q: q, acc: acc, name: source.FileIO, grant: pfsPrivilege, pfs: true,
		asks: "wait/io/file/%", tables: []table{t},
	}
}

// newFiles reads the input and output of single files, those with the most time since the server started:
//
//	mysql_perf_schema_file_instances_total{file_name,event_name,mode}
//	mysql_perf_schema_file_instances_bytes{file_name,event_name,mode}
//	dyno_file_seconds_total{file_name,event_name,mode}
func newFiles(q querier, acc account) *summary {
	t := table{
		schema: "performance_schema", name: "file_summary_by_instance",
		keys:  []key{{"FILE_NAME", "file_name", ""}, {"EVENT_NAME", "event_name", ""}},
		where: "COUNT_STAR>0", order: "SUM_TIMER_WAIT DESC", limit: 40,
	}
	for _, m := range []struct{ mode, column string }{{"read", "READ"}, {"write", "WRITE"}} {
		t.columns = append(t.columns,
			column{"COUNT_" + m.column, "mysql_perf_schema_file_instances_total", metric.Counter, 0, "mode=" + m.mode},
			column{
				"SUM_NUMBER_OF_BYTES_" + m.column, "mysql_perf_schema_file_instances_bytes",
				metric.Counter, 0, "mode=" + m.mode,
			},
			column{"SUM_TIMER_" + m.column, "dyno_file_seconds_total", metric.Counter, picoseconds, "mode=" + m.mode})
	}
	return &summary{
		q: q, acc: acc, name: source.Files, grant: pfsPrivilege, pfs: true,
		asks: "wait/io/file/%", tables: []table{t},
	}
}
