package fault

import "github.com/dyno-perf/dyno/internal/fault"

// schemaFaults are about how columns are compared, and indexes too many.
func schemaFaults() []fault.Fault {
	return []fault.Fault{
		functionOnColumn(), foldedLookup(), implicitConversion(), mismatchedJoin(), collationJoin(),
		lowCardinalityIndex(), redundantIndex(),
	}
}
