// Package symptoms lists what symptoms of MySQL's and MariaDB's servers are found by: those that every family has, and
// what only these count.
package symptoms

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/source"
)

// List returns the looks in order: resources, the server, classes with the most time first, and what could not be seen.
func List() []diagnose.Look {
	return slices.Concat([]diagnose.Look{diagnose.CPU}, loadLooks(), []diagnose.Look{diagnose.IOWait}, memoryLooks(),
		lockLooks(), []diagnose.Look{
			rndNext, diagnose.Dominant, diagnose.Scans(sqlshape.Parse, ddl.Schemas), readNext,
			diagnose.Blind(wanted...),
		})
}

// wanted are the sources that judgement leans on.
var wanted = []diagnose.Want{
	{Source: source.GlobalStatus, Lost: "the server's own counters"},
	{Source: source.Digests, Lost: "exact figures of every class of statements"},
	{Source: source.Samples, Lost: "examples of running statements"},
	{Source: source.Locks, Lost: "who waits for whose lock"},
	{Source: source.Process, Lost: "the CPU time and the reads of the server's process"},
	{Source: source.Host, Lost: "the CPU time and the disks of the machine"},
}
