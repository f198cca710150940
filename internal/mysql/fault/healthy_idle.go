package fault

import (
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// healthyIdle is a server with next to nothing to do.
func healthyIdle() fault.Fault {
	return fault.Fault{
		Name:  "healthy-idle",
		Title: "healthy: an almost idle server",
		Story: "The same office at night: one client is looked up by id each second. Nothing is wrong, and there " +
			"is hardly any data to diagnose.",
		Kind:     fault.Control,
		Threads:  1,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "healthy-idle", About: "one read by primary key each second", Rows: 20_000, Think: time.Second,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			Operations: []fault.Operation{fault.GetClient(1)},
		},
	}
}
