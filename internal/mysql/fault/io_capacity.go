package fault

import "github.com/dyno-perf/dyno/internal/fault"

// ioCapacity plants a server that is told to write slowly in the background.
func ioCapacity() fault.Fault {
	return fault.Fault{
		Name:  "io-capacity",
		Title: "the server may write only 100 pages a second in the background, and falls behind",
		Story: "Rows all over an archive in memory are changed. The disk could write thousands of pages a second, " +
			"but innodb_io_capacity says " +
			"100. Changed pages pile up, the checkpoint falls behind, and when the log is full the writers have to " +
			"wait for pages that " +
			"could have been written before. The fix is the capacity that the disk really has.",
		Kind:    fault.Risk, // it hurts only once the log is full, minutes later
		Threads: 4,
		Settings: with(sized(),
			"sync_binlog", "0", // commits do not wait for the disk here
			"innodb_io_capacity", "100",
			"loose_innodb_io_capacity_max", "100",
			"innodb_max_dirty_pages_pct", "10",
			"loose_innodb_max_dirty_pages_pct_lwm", "1",
		),
		Workload: fault.Mix{
			ID: "io-capacity", About: "small updates all over a table in memory", Rows: 200_000,
			Tables:     justPapers,
			Operations: []fault.Operation{countPages(80), getPaper(20)},
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "io-capacity", Variable: "innodb_io_capacity"}
		},
	}
}
