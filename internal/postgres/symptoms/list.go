// Package symptoms lists what symptoms of PostgreSQL's servers are found by.
package symptoms

import (
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// List returns the looks in order: resources, the server, classes with the most time first, and what could not be seen.
// parse reads the statements of classes.
func List(parse shape.Parse) []diagnose.Look {
	return []diagnose.Look{
		diagnose.CPU, diagnose.CPUQueue, connectionsFull, diagnose.ReplicaBehind, diagnose.ReplicaStopped,
		diagnose.IOWait, diagnose.LockQueues, diagnose.LockWaiting, diagnose.Dominant,
		diagnose.Scans(parse, pgtext.Schemas), diagnose.Blind(wanted...),
	}
}

// wanted are the sources that judgement leans on.
var wanted = []diagnose.Want{
	{Source: source.Database, Lost: "the server's own counters"},
	{Source: source.Digests, Lost: "exact figures of every class of statements"},
	{Source: source.Processlist, Lost: "the sessions, their transactions and who waits for whom"},
	{Source: source.Process, Lost: "the CPU time and the reads of the server's process"},
	{Source: source.Host, Lost: "the CPU time and the disks of the machine"},
}

// connectionsFull looks at how many connections are left. Clients that are turned away are counted nowhere.
func connectionsFull(s *snapshot.Snapshot) []finding.Symptom {
	return diagnose.ConnectionsFull(s.Variables["max_connections"], s.Connections(), source.Processlist, 0)
}
