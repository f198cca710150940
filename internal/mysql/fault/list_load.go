package fault

import "github.com/dyno-perf/dyno/internal/fault"

// loadFaults are about concurrency, commits and replication.
func loadFaults() []fault.Fault {
	return []fault.Fault{
		concurrencyLimit(), concurrencyUnlimited(), queryCache(), connectionChurn(),
		commitFlush(), replicaLag(),
	}
}

// sizedWith returns the settings of sized with others on top: name, value, and so on.
func sizedWith(more ...string) map[string]string {
	m := sized()
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}
