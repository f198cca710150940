package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// newIO reads pg_stat_io (16 and later), which every account may, by who did it, on what and why:
// pg_stat_io_<what>_total{backend_type,object,context}: reads, writes, writebacks, extends, hits, evictions, reuses,
// fsyncs, and of those that have them read_bytes, write_bytes, extend_bytes, and read_seconds, write_seconds,
// writeback_seconds, extend_seconds, fsync_seconds, which stay 0 without track_io_timing. From 18 on WAL is an object.
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-IO-VIEW
func newIO(q querier, f conn.Facts) *viewSource {
	const prefix = "pg_stat_io_"
	if !f.AtLeast(16) {
		return &viewSource{name: source.IO, missing: notIn(f, "pg_stat_io", 16)}
	}
	cols := counters(prefix, "_total", "reads", "writes", "writebacks", "extends", "hits", "evictions", "reuses",
		"fsyncs")
	for _, op := range []string{"read", "write", "extend"} {
		bytes := op + "_bytes"
		if !f.AtLeast(18) {
			bytes = op + "s * op_bytes"
		}
		cols = append(cols, column{expr: bytes, metric: prefix + op + "_bytes_total", kind: metric.Counter})
	}
	for _, op := range []string{"read", "write", "writeback", "extend", "fsync"} {
		cols = append(cols, column{
			expr: op + "_time", metric: prefix + op + "_seconds_total", kind: metric.Counter, scale: milliseconds,
		})
	}
	return newViews(source.IO, q, f, view{
		from: "pg_stat_io", labels: []string{"backend_type", "object", "context"}, columns: cols,
	})
}
