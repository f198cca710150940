package fault

// controls are healthy servers.
func controls() []Fault { return []Fault{healthyReads(), healthyWrites(), healthyIdle()} }
