package fault

import (
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// healthyIdle is a server with next to nothing to do.
func healthyIdle() Fault {
	return Fault{
		Name:  "healthy-idle",
		Title: "healthy: an almost idle server",
		Story: "The same office at night: one client is looked up by id each second. Nothing is wrong, and there " +
			"is hardly any data to diagnose.",
		Kind:     Control,
		Threads:  1,
		Settings: sized(),
		Workload: mix{
			name: "healthy-idle", title: "one read by primary key each second", rows: 20_000, think: time.Second,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			operations: []operation{getClient(1)},
		},
	}
}
