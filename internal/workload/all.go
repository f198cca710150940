package workload

// All returns the workloads that ship with Dyno, in the order in which lists show them.
func All() []Workload {
	return []Workload{
		PointSelect{},
		ReadOnly{},
		WriteOnly{},
		ReadWrite{},
		Insert{},
		Delete{},
		UpdateIndex{},
		UpdateNonIndex{},
		RandomPoints{},
		RandomRanges{},
		BulkInsert{},
		PageCountsLoad(), PageCountsSelect(), PageCountsUpdate(), WideMetricsLoad(),
		WideMetricsSelect(), WideMetricsUpdate(),
	}
}
