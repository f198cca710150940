package symptoms

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestMemoryLooks(t *testing.T) {
	f := func(m *snap.Made, want ...finding.SymptomKind) {
		t.Helper()
		var got []finding.SymptomKind
		for _, look := range memoryLooks() {
			for _, x := range look(m.S) {
				got = append(got, x.Kind)
				if x.Title == "" || len(x.Evidence) == 0 ||
					slices.ContainsFunc(x.Evidence, func(e finding.Evidence) bool { return e.Text == "" }) {
					t.Errorf("%s lacks words: %+v", x.Kind, x)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	const file = "wait/io/file/innodb/innodb_data_file"
	reads := func(n, sec float64) *snap.Made {
		return snap.Build().Rate("mysql_perf_schema_file_events_total", n, "event_name", file, "mode", "read").
			Rate("mysql_perf_schema_file_events_seconds_total", sec, "event_name", file, "mode", "read")
	}
	f(snap.Build())
	f(snap.Build().Status("Innodb_buffer_pool_reads", 400), finding.PoolMisses)
	f(snap.Build().Status("Innodb_buffer_pool_reads", 40)) // a cold page now and then
	f(reads(500, 6), finding.SlowReads)
	f(reads(5000, 3))  // many, and quick
	f(reads(100, 0.9)) // slow, and nobody in line
	f(snap.Build().Gauge("mysql_global_status_innodb_checkpoint_age", 80e6).
		Gauge("mysql_global_status_innodb_checkpoint_max_age", 100e6), finding.Checkpoint)
	f(snap.Build().Gauge("mysql_global_status_innodb_checkpoint_age", 50e6).
		Gauge("mysql_global_status_innodb_checkpoint_max_age", 100e6))
	redo := func(age float64) *snap.Made {
		return snap.Build().Gauge("mysql_global_status_innodb_redo_log_current_lsn", 9e9+age).
			Gauge("mysql_global_status_innodb_redo_log_checkpoint_lsn", 9e9).
			Gauge("mysql_global_status_innodb_redo_log_capacity_resized", 100e6)
	}
	f(redo(70e6), finding.Checkpoint)
	f(redo(30e6))
	f(snap.Build().Status("Innodb_log_waits", 3), finding.LogWaits)
	f(snap.Build().Status("Innodb_log_waits", 0.1))
	f(snap.Build().Status("Opened_tables", 300).Status("Questions", 1000), finding.TableOpens)
	f(snap.Build().Status("Opened_tables", 300).Status("Questions", 100_000)) // one in 300 statements
	f(snap.Build().Status("Opened_tables", 3).Status("Questions", 10))

	// What was not seen is no symptom of memory.
	f(&snap.Made{S: &snapshot.Snapshot{}})
}
