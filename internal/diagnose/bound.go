package diagnose

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/finding"
)

// Bound says in one word what the server is short of, as far as symptoms tell it: "CPU-bound", "I/O-bound",
// "lock-bound"; "" when nothing is short. Waiting for a lock comes first: while sessions wait for each other neither
// CPUs nor disks are what they lack. Of the disk and the CPUs it is the one that is saturated, both when both are.
func Bound(symptoms []finding.Symptom) string {
	has := func(kinds ...finding.SymptomKind) bool {
		return slices.ContainsFunc(symptoms, func(s finding.Symptom) bool { return slices.Contains(kinds, s.Kind) })
	}
	switch {
	case has(finding.LockQueue, finding.LockWaiting):
		return "Lock-bound"
	case has(finding.IOWait, finding.SlowReads) && has(finding.CPUSaturated):
		return "Bound by CPU and I/O"
	case has(finding.IOWait, finding.SlowReads):
		return "I/O-bound"
	case has(finding.CPUSaturated):
		return "CPU-bound"
	}
	return ""
}
