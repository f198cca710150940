package workload

// All returns the workloads that ship with Dyno, in the order in which lists show them.
func All() []Workload {
	return []Workload{PointSelect{}, ReadOnly{}, ReadWrite{}}
}
