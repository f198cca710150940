package fault

// schemaFaults are about how columns are compared, and indexes too many.
func schemaFaults() []Fault {
	return []Fault{
		functionOnColumn(), foldedLookup(), implicitConversion(), mismatchedJoin(), collationJoin(),
		lowCardinalityIndex(), redundantIndex(),
	}
}
