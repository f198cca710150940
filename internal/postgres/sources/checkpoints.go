package sources

import (
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// newCheckpoints reads what the checkpointer and the background writer did, which every account may:
//
//	pg_stat_checkpointer_<column>_total, pg_stat_bgwriter_<column>_total   times in milliseconds
//	dyno_checkpoint_age_bytes     log written, on a standby replayed, since the start of the last checkpoint: what a
//	crash would have to be recovered from
//
// Before PostgreSQL 17 pg_stat_bgwriter has all of it.
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-CHECKPOINTER-VIEW
func newCheckpoints(q querier, f conn.Facts) *viewSource {
	const checkpointer, writer = "pg_stat_checkpointer_", "pg_stat_bgwriter_"
	views := []view{{from: "pg_stat_bgwriter", columns: append(counters(writer, "_total", "checkpoints_timed",
		"checkpoints_req", "checkpoint_write_time", "checkpoint_sync_time", "buffers_checkpoint", "buffers_clean",
		"maxwritten_clean", "buffers_backend", "buffers_backend_fsync", "buffers_alloc"),
		since("stats_reset", writer+"stats_reset_total"))}}
	if f.AtLeast(17) {
		names := []string{
			"num_timed", "num_requested", "restartpoints_timed", "restartpoints_req", "restartpoints_done",
			"write_time", "sync_time", "buffers_written",
		}
		if f.AtLeast(18) {
			names = append(names, "num_done", "slru_written")
		}
		views = []view{
			{from: "pg_stat_checkpointer", columns: append(counters(checkpointer, "_total", names...),
				since("stats_reset", checkpointer+"stats_reset_total"))},
			{from: "pg_stat_bgwriter", columns: append(counters(writer, "_total", "buffers_clean", "maxwritten_clean",
				"buffers_alloc"), since("stats_reset", writer+"stats_reset_total"))},
		}
	}
	views = append(views, view{from: "pg_control_checkpoint()", columns: []column{{
		expr: "pg_wal_lsn_diff(" + position + ", redo_lsn)", metric: "dyno_checkpoint_age_bytes",
	}}})
	return newViews(source.Checkpoints, q, f, views...)
}
