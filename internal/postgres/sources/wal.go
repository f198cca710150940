package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// newWAL reads pg_stat_wal, which every account may:
//
//	pg_stat_wal_records_total, pg_stat_wal_fpi_total   records written, and of these images of whole pages
//	pg_stat_wal_bytes_total, pg_stat_wal_buffers_full_total
//	pg_stat_wal_writes_total, pg_stat_wal_syncs_total and their _seconds_total, before PostgreSQL 18, which counts
//	them in pg_stat_io. The seconds stay 0 without track_wal_io_timing.
//
// On a standby they count what it has written as a primary.
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-WAL-VIEW
func newWAL(q querier, f conn.Facts) *viewSource {
	count := func(expr, name string) column {
		return column{expr: expr, metric: "pg_stat_wal_" + name + "_total", kind: metric.Counter}
	}
	cols := []column{
		count("wal_records", "records"), count("wal_fpi", "fpi"), count("wal_bytes", "bytes"),
		count("wal_buffers_full", "buffers_full"),
	}
	if !f.AtLeast(18) {
		w, s := count("wal_write_time", "write_seconds"), count("wal_sync_time", "sync_seconds")
		w.scale, s.scale = milliseconds, milliseconds
		cols = append(cols, count("wal_write", "writes"), count("wal_sync", "syncs"), w, s)
	}
	return newViews(source.WAL, q, f, view{from: "pg_stat_wal", columns: cols})
}
