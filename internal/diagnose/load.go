package diagnose

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// loadLooks look at concurrency, commits, connections and replication.
func loadLooks() []look {
	return []look{engineQueue, cpuQueue, logSync, connects, connectionsFull, replicaBehind, replicaStopped}
}

const (
	queueLength = 1.0 // statements before the engine, in the mean
	// in the queue for each CPU; what others use of the CPUs makes it no longer than there are threads that can run
	threadsPerCPU  = 8.0
	leastInQueue   = 16.0 // threads, on small machines
	syncSeconds    = 0.2  // a second in syncs of the logs, over all threads
	syncTime       = 0.002
	connectsPerSec = 50.0
	connectionPart = 0.85 // of max_connections
	lagSeconds     = 3.0  // more than whole seconds explain
)

// engineQueue looks at statements that the engine does not let in yet.
func engineQueue(s *snapshot.Snapshot) []finding.Symptom {
	n, ok := meanOf(s, "mysql_engine_innodb_queries_in_queue")
	if !ok || n < queueLength {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.EngineQueue.ID(), Kind: finding.EngineQueue, Subject: "engine",
		Title: fmt.Sprintf("%.1f statements queue before the engine", n),
		Evidence: []finding.Evidence{{
			What: "queries in queue", Value: known.Of(n), Expected: "0", Source: source.InnodbStatus,
			Text: fmt.Sprintf("On average %.1f statements waited to enter the engine, which lets %s in at a time.", n,
				s.Variables["innodb_thread_concurrency"]),
		}},
	}}
}

// cpuQueue looks at the server's threads that could run and have no CPU.
func cpuQueue(s *snapshot.Snapshot) []finding.Symptom {
	n, ok := s.Rate("dyno_server_run_queue_seconds_total").Get()
	cpus, ok2 := s.Host.CPUs.Get()
	if !ok || !ok2 || n < max(leastInQueue, threadsPerCPU*cpus) {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.CPUQueue.ID(), Kind: finding.CPUQueue, Subject: "cpu",
		Title: fmt.Sprintf("%.0f threads of the server wait for a CPU "+
			"at a time", n),
		Evidence: []finding.Evidence{{
			What: "threads waiting for a CPU", Value: known.Of(n), Expected: fmt.Sprintf("< %.0f",
				max(leastInQueue, threadsPerCPU*cpus)), Source: source.ProcessThreads,
			Text: fmt.Sprintf("%.0f threads of the server waited for one of %.4g CPUs at a time.", n, cpus),
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

// extraConnections is how many there may be beyond max_connections: MariaDB's extra_max_connections ends there.
const extraConnections = 100_000

// connectionsFull looks at how many connections are left, and at clients that were turned away.
func connectionsFull(s *snapshot.Snapshot) []finding.Symptom {
	var most float64
	if _, err := fmt.Sscanf(s.Variables["max_connections"], "%g", &most); err != nil || most <= 0 {
		return nil
	}
	n, ok := meanOf(s, "mysql_global_status_threads_connected")
	from := source.GlobalStatus
	if s.Target.Flavor.IsPostgres() {
		n, ok = s.Connections().Get()
		from = source.Processlist
	}
	ok = ok && n >= 0 && n <= most+extraConnections
	refused := s.Rate(metric.ConnectionErrors.Of("max_connections")).Or(0)
	if (!ok || n < connectionPart*most) && refused <= 0 {
		return nil
	}
	title := fmt.Sprintf("%.0f of %.0f connections are in use", n, most)
	var ev []finding.Evidence
	if ok {
		ev = append(ev, finding.Evidence{
			What: "connections in use", Value: known.Of(n), Expected: fmt.Sprintf("< %.0f", connectionPart*most),
			Source: from, Text: title + ".",
		})
	}
	if refused > 0 {
		title = "clients are refused: no connection is left"
		ev = append(ev, finding.Evidence{
			What: "connections refused", Value: known.Of(refused), Unit: "1/s", Expected: "0",
			Source: source.GlobalStatus,
			Text:   fmt.Sprintf("%s were refused for lack of a connection.", unit.Rate(refused, "clients/s")),
		})
	}
	return []finding.Symptom{{
		ID: finding.ConnectionsFull.ID(), Kind: finding.ConnectionsFull, Subject: "connections",
		Title: title, Evidence: ev,
	}}
}

// replicaBehind looks at the lag of each channel.
func replicaBehind(s *snapshot.Snapshot) (out []finding.Symptom) {
	for _, x := range s.Series {
		if x.Name != "dyno_replica_lag_seconds" || len(x.Points) == 0 {
			continue
		}
		lag := x.Points[len(x.Points)-1].Value
		if lag < lagSeconds {
			continue
		}
		id, who := finding.ReplicaBehind.ID(), "the replica"
		if c := x.Labels.Get("channel"); c != "" {
			id, who = finding.ReplicaBehind.ID(c), "the channel "+c
		}
		out = append(out, finding.Symptom{
			ID: id, Kind: finding.ReplicaBehind, Subject: "replication", Title: fmt.Sprintf("%s lags by %s",
				who, unit.Seconds(lag)),
			Evidence: []finding.Evidence{{
				What: "lag", Value: known.Of(lag), Unit: "s", Expected: fmt.Sprintf("< %v", lagSeconds),
				Source: source.Replication,
				Text: fmt.Sprintf("It lagged by %s at the end of the window and by %s at its beginning.",
					unit.Seconds(lag), unit.Seconds(x.Points[0].Value)),
			}},
		})
	}
	return out
}

// replicaStopped looks at the two threads of each channel.
func replicaStopped(s *snapshot.Snapshot) (out []finding.Symptom) {
	for _, x := range s.Series {
		if x.Name != "dyno_replica_running" || len(x.Points) == 0 {
			continue
		}
		running := false
		for _, p := range x.Points {
			running = running || p.Value != 0
		}
		if running {
			continue
		}
		c, thread := x.Labels.Get("channel"), x.Labels.Get("thread")
		title := fmt.Sprintf("the %s thread of the replica does not run", strings.ToUpper(thread))
		if c != "" {
			title = fmt.Sprintf("the %s thread of the channel %s does not run", strings.ToUpper(thread), c)
		}
		out = append(out, finding.Symptom{
			ID: finding.ReplicaStopped.ID(c, thread), Kind: finding.ReplicaStopped, Subject: "replication",
			Title: title,
			Evidence: []finding.Evidence{{
				What: "running", Value: known.Of(0.0), Expected: "1",
				Source: source.Replication, Text: title + ".",
			}},
		})
	}
	return out
}

// meanOf returns the mean of a gauge.
func meanOf(s *snapshot.Snapshot, name string) (float64, bool) {
	x, ok := s.Find(name)
	if !ok || len(x.Points) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, p := range x.Points {
		sum += p.Value
	}
	return sum / float64(len(x.Points)), true
}
