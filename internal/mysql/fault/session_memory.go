package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// sessionMemory plants buffers per session that the machine's memory cannot hold for all of them.
func sessionMemory() fault.Fault {
	return fault.Fault{
		Name:  "session-memory",
		Title: "sessions may take many times the machine's memory",
		Story: "The session buffers were raised to hundreds of megabytes each, and 1000 sessions may connect. The " +
			"office does not " +
			"need them: it reads and writes single rows. But each session may take a buffer of each kind, and more " +
			"than one, so a busy " +
			"hour with some sorts and joins ends with the kernel killing the server. Nothing is slow yet; it is a " +
			"risk.",
		Kind:    fault.Risk,
		Threads: 4,
		Settings: with(sized(),
			"max_connections", "1000",
			"sort_buffer_size", "256M",
			"join_buffer_size", "512M",
			"read_rnd_buffer_size", "128M",
			"read_buffer_size", "64M",
		),
		Workload: fault.Mix{
			ID: "session-memory", About: "single-row reads and writes by primary key", Rows: 100_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{fault.GetClient(60), fault.LastVisits(20), fault.UpdateBalance(20)},
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "session-memory", Variable: "join_buffer_size"}
		},
	}
}
