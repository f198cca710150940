package diagnose

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// in the queue for each CPU; what others use of the CPUs makes it no longer than there are threads that can run
	threadsPerCPU  = 8.0
	leastInQueue   = 16.0 // threads, on small machines
	connectionPart = 0.85 // of those that there may be
	lagSeconds     = 3.0  // more than whole seconds explain
)

// CPUQueue looks at the server's threads that could run and have no CPU.
func CPUQueue(s *snapshot.Snapshot) []finding.Symptom {
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

// extraConnections is how many there may be beyond the limit: MariaDB's extra_max_connections ends there.
const extraConnections = 100_000

// ConnectionsFull looks at how many connections are left, and at clients that were turned away. limit is the setting of
// how many there may be, as the server writes it, inUse their mean by the source from, and refused how many clients a
// second were turned away.
func ConnectionsFull(
	limit string, inUse known.Value[float64], from source.Name, refused float64,
) []finding.Symptom {
	var most float64
	if _, err := fmt.Sscanf(limit, "%g", &most); err != nil || most <= 0 {
		return nil
	}
	n, ok := inUse.Get()
	ok = ok && n >= 0 && n <= most+extraConnections
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

// ReplicaBehind looks at the lag of each channel.
func ReplicaBehind(s *snapshot.Snapshot) (out []finding.Symptom) {
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

// ReplicaStopped looks at the two threads of each channel.
func ReplicaStopped(s *snapshot.Snapshot) (out []finding.Symptom) {
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
