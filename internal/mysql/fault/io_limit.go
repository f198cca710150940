package fault

import "github.com/dyno-perf/dyno/internal/limit"

// ioLimit plants a disk that takes few requests.
func ioLimit() Fault {
	return Fault{
		Name:  "io-limit",
		Title: "the disk takes 150 reads a second, and the server asks for more",
		Story: "An archive larger than the buffer pool is read by primary key from a disk that is limited to 150 " +
			"reads and 500 writes a second. Every read " +
			"waits many times as long as the disk needs for it. The CPUs are idle. Only a faster disk, or fewer " +
			"reads, helps: no index and no " +
			"setting of the log does.",
		Kind:    Risk, // it hurts, but no statement or setting lifts a limit of the disk: the finding alone is graded
		Threads: 8,
		Limits:  limit.Limits{ReadIOPS: 150, WriteIOPS: 500},
		Settings: with(sized(),
			"innodb_buffer_pool_size", "64M",
			"innodb_flush_method", "O_DIRECT",
		),
		Workload: mix{
			name: "io-limit", title: "reads by primary key of more than the buffer pool holds", rows: 90_000,
			tables:     justPapers,
			operations: []operation{getPaper(100)},
		},
		Belongs: map[string]string{
			"small-buffer-pool": "the reads that wait for the disk are pages that a larger pool would hold",
		},
		expect: func(names) Expectation { return Expectation{Rule: "io-limit"} },
	}
}
