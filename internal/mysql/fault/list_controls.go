package fault

import "github.com/dyno-perf/dyno/internal/fault"

// controls are healthy servers.
func controls() []fault.Fault { return []fault.Fault{healthyReads(), healthyWrites(), healthyIdle()} }
