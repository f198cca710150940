package judge

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/symptoms"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// looks returns what symptoms of a flavor's servers are found by.
func looks(f dbms.Flavor) []diagnose.Look {
	if !f.IsPostgres() {
		return symptoms.List()
	}
	return []diagnose.Look{
		diagnose.CPU, diagnose.CPUQueue, connectionsFull, diagnose.ReplicaBehind, diagnose.ReplicaStopped,
		diagnose.IOWait, diagnose.LockQueues, diagnose.LockWaiting, diagnose.Dominant, diagnose.Scans,
		diagnose.Blind(
			diagnose.Want{Source: source.Database, Lost: "the server's own counters"},
			diagnose.Want{Source: source.Digests, Lost: "exact figures of every class of statements"},
			diagnose.Want{
				Source: source.Processlist, Lost: "the sessions, their transactions and who waits for whom",
			},
			diagnose.Want{Source: source.Process, Lost: "the CPU time and the reads of the server's process"},
			diagnose.Want{Source: source.Host, Lost: "the CPU time and the disks of the machine"},
		),
	}
}

// connectionsFull looks at how many connections are left. Clients that are turned away are counted nowhere.
func connectionsFull(s *snapshot.Snapshot) []finding.Symptom {
	return diagnose.ConnectionsFull(s.Variables["max_connections"], s.Connections(), source.Processlist, 0)
}
