package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/limit"
)

// smallBufferPool plants a buffer pool that holds a quarter of the rows that are read.
func smallBufferPool() fault.Fault {
	return fault.Fault{
		Name:  "small-buffer-pool",
		Title: "the buffer pool holds a quarter of the rows that are read",
		Story: "An archive of 40 MB is read by primary key, all rows alike, through a buffer pool of 12 MB. Three " +
			"reads out of four do not find their " +
			"page in memory and wait for the disk, which does 1000 reads a second, although the machine has memory " +
			"to spare. The fix is a buffer pool as large as the archive.",
		Kind:    fault.Hurts,
		Threads: 8,
		Limits:  limit.Limits{ReadIOPS: 1000}, // a common disk: on a very fast one a miss costs little more than a hit
		Settings: with(sized(),
			"innodb_buffer_pool_size", "12M",
			"loose_innodb_lru_scan_depth", "100", // else half of so small a pool is kept free
			"innodb_flush_method", "O_DIRECT", // else the kernel's cache stands in for the pool
		),
		Workload: fault.Mix{
			ID: "small-buffer-pool", About: "reads by primary key of more than the buffer pool holds", Rows: 36_000,
			Tables:     justPapers,
			Operations: []fault.Operation{getPaper(98), countPages(2)},
		},
		Belongs: map[string]string{
			"io-limit": "the disk is limited to 1000 reads a second, and all of them are used",
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "small-buffer-pool", Variable: "innodb_buffer_pool_size"}
		},
	}
}
