package symptoms

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// level sets a gauge that goes evenly from one value to another.
func level(s *snapshot.Snapshot, name string, from, to float64, labels ...string) {
	x := metric.Series{Name: name, Labels: metric.L(labels...)}
	for i := range window + 1 {
		x.Points = append(x.Points, metric.Point{At: s.From.UnixMilli() + int64(i)*1000, Value: from +
			(to-from)*float64(i)/window})
	}
	s.Series = append(s.Series, x)
}

func TestLoadLooks(t *testing.T) {
	f := func(change func(*snapshot.Snapshot), want ...string) {
		t.Helper()
		s := quiet()
		s.Variables = map[string]string{"max_connections": "100", "innodb_thread_concurrency": "4"}
		change(s)
		var got []string
		for _, l := range loadLooks() {
			for _, x := range l(s) {
				got = append(got, x.ID)
				if x.Title == "" || x.Subject == "" || len(x.Evidence) == 0 || x.Evidence[0].Text == "" ||
					x.Evidence[0].Source == "" {
					t.Errorf("incomplete: %+v", x)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(func(*snapshot.Snapshot) {})
	f(func(s *snapshot.Snapshot) { s.Variables, s.Series = nil, nil })

	f(func(s *snapshot.Snapshot) { level(s, "mysql_engine_innodb_queries_in_queue", 4, 6) }, "engine-queue")
	f(func(s *snapshot.Snapshot) { level(s, "mysql_engine_innodb_queries_in_queue", 0, 1) })

	f(func(s *snapshot.Snapshot) { rate(s, "dyno_server_run_queue_seconds_total", 80) }, "cpu-queue")
	f(func(s *snapshot.Snapshot) { rate(s, "dyno_server_run_queue_seconds_total", 7) })
	f(func(s *snapshot.Snapshot) { // 80 in the queues of 64 CPUs
		s.Host.CPUs = known.Of(64.0)
		rate(s, "dyno_server_run_queue_seconds_total", 80)
	})

	syncs := func(s *snapshot.Snapshot, n, each float64) {
		rate(s, "mysql_perf_schema_file_events_total", n, "event_name", "wait/io/file/sql/binlog", "mode", "misc")
		rate(s, "mysql_perf_schema_file_events_seconds_total", n*each, "event_name", "wait/io/file/sql/binlog", "mode",
			"misc")
	}
	f(func(s *snapshot.Snapshot) { syncs(s, 60, 0.01) }, "log-sync")
	f(func(s *snapshot.Snapshot) { syncs(s, 2000, 0.0003) }) // a quick disk
	f(func(s *snapshot.Snapshot) { syncs(s, 2, 0.01) })      // hardly any

	f(func(s *snapshot.Snapshot) { rate(s, "mysql_global_status_connections", 300) }, "connects")
	f(func(s *snapshot.Snapshot) { rate(s, "mysql_global_status_connections", 3) })

	f(func(s *snapshot.Snapshot) { level(s, "mysql_global_status_threads_connected", 95, 95) }, "connections-full")
	f(func(s *snapshot.Snapshot) { level(s, "mysql_global_status_threads_connected", 60, 60) })
	f(func(s *snapshot.Snapshot) { rate(s, figures.ConnectionErrors.Name, 2, "error", "max_connections") },
		"connections-full")

	refused := quiet()
	refused.Variables = map[string]string{"max_connections": "100"}
	rate(refused, figures.ConnectionErrors.Name, 2, "error", "max_connections")
	if all := connectionsFull(refused); len(all) != 1 || len(all[0].Evidence) != 1 {
		// how many are in use was not seen: not 0
		t.Errorf("refused, and no gauge: %+v", all)
	}

	f(func(s *snapshot.Snapshot) { level(s, "dyno_replica_lag_seconds", 2, 9, "channel", "") }, "replica-behind")
	f(func(s *snapshot.Snapshot) { level(s, "dyno_replica_lag_seconds", 9, 9, "channel", "east") },
		"replica-behind:east")
	f(func(s *snapshot.Snapshot) { level(s, "dyno_replica_lag_seconds", 0, 1, "channel", "") })
}
