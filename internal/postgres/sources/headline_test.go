package sources

import (
	"maps"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/state"
)

// TestHeadline: what it counts by its own names, and what has no meaning there is absent.
func TestHeadline(t *testing.T) {
	const d = "pg_stat_database_"
	of := func(name, database string, v float64) metric.Sample {
		return metric.Sample{Name: d + name, Labels: metric.L("datid", "1", "datname", database), Value: v}
	}
	read := func(n float64) []metric.Sample {
		samples := []metric.Sample{
			of("blks_read", "a", n), of("blks_read", "b", n), of("blks_hit", "a", 10*n), of("tup_returned", "a", 6*n),
			of("tup_inserted", "a", n), of("tup_updated", "a", n), of("tup_deleted", "a", 0), of("temp_files", "a", n),
			of("sessions_killed", "a", n), of("sessions_fatal", "a", 0), of("sessions_abandoned", "a", 0),
		}
		for name, v := range map[string]float64{
			"dyno_client_transactions_total": 10 + 2*n, "dyno_client_statements_total": 5 + 4*n, "dyno_sessions": 7,
			"dyno_sessions_running": 3, "pg_stat_wal_bytes_total": 1000 * n, "dyno_checkpoint_age_bytes": 50,
			"dyno_uptime_seconds": 100 + n, "dyno_row_lock_waiters": 1,
		} {
			samples = append(samples, metric.Sample{Name: name, Value: v})
		}
		return samples
	}
	want := map[string]float64{
		state.TPS: 2, state.QPS: 4, state.Connected: 7, state.Running: 3, state.RedoBytes: 1000, state.Checkpoint: 50,
		state.Uptime: 102, state.RowLockWaiting: 1, state.PoolMisses: 2, state.PoolRequests: 12, state.RowsRead: 6,
		state.RowsWritten: 2, state.TmpDisk: 1, state.Aborted: 1,
	}
	got := map[string]float64{}
	for _, v := range state.Between(Headline.Take(read(1)), Headline.Take(read(2)), 1) {
		got[v.Name] = v.Value
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
