package fault

import "github.com/dyno-perf/dyno/internal/fault"

// indexFaults are lacking and misplaced indexes.
func indexFaults() []fault.Fault {
	return []fault.Fault{missingIndex(), indexOrder(), filesort(), twoSingleIndexes(), unindexedJoin(), indexScan()}
}
