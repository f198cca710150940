package fault

import "github.com/dyno-perf/dyno/internal/fault"

// sessionFaults are about locks and transactions.
func sessionFaults() []fault.Fault {
	return []fault.Fault{rowVersions(), idleTransaction(), lockPileup(), mdlPileup(), deadlocks(), victimQuery()}
}
