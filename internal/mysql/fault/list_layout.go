package fault

import "github.com/dyno-perf/dyno/internal/fault"

// unhurried are the settings of faults whose writes are to be seen, not what their commits wait for.
func unhurried() map[string]string {
	s := sized()
	s["sync_binlog"] = "0"
	return s
}

// layoutFaults are about keys, storage and stored programs.
func layoutFaults() []fault.Fault {
	return []fault.Fault{
		hotColumnInPK(), widePK(), fragmentedTable(), failedCompression(), triggerCost(),
		diskTempTables(), bigDelete(),
	}
}
