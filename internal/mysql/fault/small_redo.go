package fault

import "github.com/dyno-perf/dyno/internal/fault"

// smallRedo plants a redo log that is full every second.
func smallRedo() fault.Fault {
	return fault.Fault{
		Name:  "small-redo",
		Title: "the redo log is full again and again, and every time pages must be written to make room",
		Story: "Rows of an archive that fits in memory are rewritten all over it, with the smallest redo log that " +
			"the server allows. It is full " +
			"within a second or two, and then pages have to be written before anything else may be changed; a moment " +
			"later the same pages " +
			"are changed again. The fix is a log for a longer time of writes.",
		Kind:    fault.Hurts,
		Threads: 4,
		Settings: with(sized(),
			"loose_innodb_log_file_size", "4M",
			"loose_innodb_redo_log_capacity", "8M",
			// MariaDB takes no log that is smaller than its buffer, nor goes back to one
			"innodb_log_buffer_size", "4M",
			"sync_binlog", "0", // commits do not wait for the disk here
			"innodb_io_capacity", "2000",
			"loose_innodb_io_capacity_max", "10000",
		),
		Workload: fault.Mix{
			ID: "small-redo", About: "rows rewritten all over a table in memory", Rows: 60_000,
			Tables:     justPapers,
			Operations: []fault.Operation{rewritePaper(80), getPaper(20)},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "small-redo"}
		},
	}
}
