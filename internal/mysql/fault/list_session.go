package fault

// sessionFaults are about locks and transactions.
func sessionFaults() []Fault {
	return []Fault{rowVersions(), idleTransaction(), lockPileup(), mdlPileup(), deadlocks(), victimQuery()}
}
