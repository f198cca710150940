package fault

// indexFaults are lacking and misplaced indexes.
func indexFaults() []Fault {
	return []Fault{missingIndex(), indexOrder(), filesort(), twoSingleIndexes(), unindexedJoin(), indexScan()}
}
