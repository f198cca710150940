package fault

// doubleBuffering plants buffered I/O and a pool that is smaller than what is read.
func doubleBuffering() Fault {
	return Fault{
		Name:  "double-buffering",
		Title: "the kernel's cache holds what the buffer pool should hold",
		Story: "An archive of 100 MB is read through a buffer pool of 48 MB with buffered I/O. The disk is idle " +
			"because the pages that " +
			"the pool misses are in the kernel's cache, next to copies of those that it has. Each costs a system " +
			"call and a copy, and takes memory " +
			"twice. The fix is direct I/O together with a pool that takes the memory of the second copy.",
		Kind:    Risk, // copies from the cache cost little time; it is memory that is lost
		Threads: 4,
		Settings: with(sized(),
			"innodb_buffer_pool_size", "48M",
			"innodb_flush_method", "fsync",
		),
		Workload: mix{
			name: "double-buffering", title: "reads by primary key of more than the buffer pool holds", rows: 90_000,
			tables:     justPapers,
			operations: []operation{getPaper(98), countPages(2)},
		},
		expect: func(names) Expectation {
			return Expectation{Rule: "double-buffering", Variable: "innodb_flush_method"}
		},
	}
}
