package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/limit"
)

// ioLimit plants a disk that takes few requests.
func ioLimit() fault.Fault {
	return fault.Fault{
		Name:  "io-limit",
		Title: "the disk takes 150 reads a second, and the server asks for more",
		Story: "An archive larger than the buffer pool is read by primary key from a disk that is limited to 150 " +
			"reads and 500 writes a second. Every read " +
			"waits many times as long as the disk needs for it. The CPUs are idle. Only a faster disk, or fewer " +
			"reads, helps: no index and no " +
			"setting of the log does.",
		// it hurts, but no statement or setting lifts a limit of the disk: the finding alone is graded
		Kind:    fault.Risk,
		Threads: 8,
		Limits:  limit.Limits{ReadIOPS: 150, WriteIOPS: 500},
		Settings: with(sized(),
			"innodb_buffer_pool_size", "64M",
			"innodb_flush_method", "O_DIRECT",
		),
		Workload: fault.Mix{
			ID: "io-limit", About: "reads by primary key of more than the buffer pool holds", Rows: 90_000,
			Tables:     justPapers,
			Operations: []fault.Operation{getPaper(100)},
		},
		Belongs: map[string]string{
			"small-buffer-pool": "the reads that wait for the disk are pages that a larger pool would hold",
		},
		Right: func(fault.Names) fault.Expectation { return fault.Expectation{Rule: "io-limit"} },
	}
}
