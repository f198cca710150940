package symptoms

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// loadLooks look at concurrency, commits, connections and replication.
func loadLooks() []diagnose.Look {
	return []diagnose.Look{
		engineQueue, diagnose.CPUQueue, logSync, connects, connectionsFull, diagnose.ReplicaBehind,
		diagnose.ReplicaStopped,
	}
}

const (
	queueLength    = 1.0 // statements before the engine, in the mean
	syncSeconds    = 0.2 // a second in syncs of the logs, over all threads
	syncTime       = 0.002
	connectsPerSec = 50.0
)

// engineQueue looks at statements that the engine does not let in yet.
func engineQueue(s *snapshot.Snapshot) []finding.Symptom {
	n, ok := meanOf(s, "mysql_engine_innodb_queries_in_queue").Get()
	if !ok || n < queueLength {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.EngineQueue.ID(), Kind: finding.EngineQueue, Subject: "engine",
		Title: fmt.Sprintf("%.1f statements queue before the engine", n),
		Evidence: []finding.Evidence{{
			What: "queries in queue", Value: known.Of(n), Expected: "0", Source: figures.InnodbStatus,
			Text: fmt.Sprintf("On average %.1f statements waited to enter the engine, which lets %s in at a time.", n,
				s.Variables["innodb_thread_concurrency"]),
		}},
	}}
}

// logSync looks at the time that threads spend in syncs of the redo log and the binary log. MariaDB does not tell of
// its redo log.
func logSync(s *snapshot.Snapshot) []finding.Symptom {
	var sec, calls float64
	for _, e := range []string{"wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog"} {
		event, mode := metric.Label{Name: "event_name", Value: e}, metric.Label{Name: "mode", Value: "misc"}
		sec += s.Rate("mysql_perf_schema_file_events_seconds_total", event, mode).Or(0)
		calls += s.Rate("mysql_perf_schema_file_events_total", event, mode).Or(0)
	}
	if sec < syncSeconds || calls <= 0 || sec/calls < syncTime {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.LogSync.ID(), Kind: finding.LogSync, Subject: "disk", Title: fmt.Sprintf("a log sync takes %s",
			unit.Seconds(sec/calls)),
		Evidence: []finding.Evidence{{
			What: "time in log syncs", Value: known.Of(sec), Unit: "s/s", Expected: fmt.Sprintf("< %v", syncSeconds),
			Source: source.FileIO,
			Text: fmt.Sprintf("Threads spent %s a second in %s of the logs.", unit.Seconds(sec),
				unit.Rate(calls, "syncs/s")),
		}},
	}}
}

// connects looks at how often clients connect.
func connects(s *snapshot.Snapshot) []finding.Symptom {
	r := s.Rate("mysql_global_status_connections")
	n, ok := r.Get()
	if !ok || n < connectsPerSec {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.Connects.ID(), Kind: finding.Connects, Subject: "connections",
		Title: fmt.Sprintf("clients connect %s",
			unit.Rate(n, "times/s")),
		Evidence: []finding.Evidence{{
			What: "connections made", Value: r, Unit: "1/s", Expected: fmt.Sprintf("< %v", connectsPerSec),
			Source: source.GlobalStatus,
			Text:   fmt.Sprintf("%s were made.", unit.Rate(n, "connections/s")),
		}},
	}}
}

// connectionsFull looks at how many connections are left, and at clients that were turned away.
func connectionsFull(s *snapshot.Snapshot) []finding.Symptom {
	return diagnose.ConnectionsFull(s.Variables["max_connections"], meanOf(s, "mysql_global_status_threads_connected"),
		source.GlobalStatus, s.Rate(figures.ConnectionErrors.Of("max_connections")).Or(0))
}

// meanOf returns the mean of a gauge; unknown when it was not observed.
func meanOf(s *snapshot.Snapshot, name string) known.Value[float64] {
	x, ok := s.Find(name)
	if !ok || len(x.Points) == 0 {
		return known.None[float64]()
	}
	sum := 0.0
	for _, p := range x.Points {
		sum += p.Value
	}
	return known.Of(sum / float64(len(x.Points)))
}
