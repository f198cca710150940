package fault

import "github.com/dyno-perf/dyno/internal/fault"

// doubleBuffering plants buffered I/O and a pool that is smaller than what is read.
func doubleBuffering() fault.Fault {
	return fault.Fault{
		Name:  "double-buffering",
		Title: "the kernel's cache holds what the buffer pool should hold",
		Story: "An archive of 100 MB is read through a buffer pool of 48 MB with buffered I/O. The disk is idle " +
			"because the pages that " +
			"the pool misses are in the kernel's cache, next to copies of those that it has. Each costs a system " +
			"call and a copy, and takes memory " +
			"twice. The fix is direct I/O together with a pool that takes the memory of the second copy.",
		Kind:    fault.Risk, // copies from the cache cost little time; it is memory that is lost
		Threads: 4,
		Settings: with(sized(),
			"innodb_buffer_pool_size", "48M",
			"innodb_flush_method", "fsync",
		),
		Workload: fault.Mix{
			ID: "double-buffering", About: "reads by primary key of more than the buffer pool holds", Rows: 90_000,
			Tables:     justPapers,
			Operations: []fault.Operation{getPaper(98), countPages(2)},
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "double-buffering", Variable: "innodb_flush_method"}
		},
	}
}
