package config

import "github.com/dyno-perf/dyno/internal/advise"

// memoryRules are those about memory and the disk.
func memoryRules() []advise.Rule {
	return []advise.Rule{
		{Name: "io-limit", Doc: "reads that queue for a saturated disk", Find: ioLimit},
		{Name: "small-buffer-pool", Doc: "a full buffer pool, smaller than what statements work on, with sessions " +
			"that wait for pages", Find: smallBufferPool},
		{
			Name: "double-buffering", Doc: "a pool that is too small while the kernel's cache holds the missing pages",
			Find: doubleBuffering,
		},
		{Name: "small-redo", Doc: "a redo log that is full after seconds of writes, so that pages must be written to " +
			"make room", Find: smallRedo},
		{
			Name: "io-capacity", Doc: "background writing held back by innodb_io_capacity while the disk is idle",
			Find: ioCapacity,
		},
		{Name: "small-log-buffer", Doc: "sessions that wait for room in the log buffer", Find: smallLogBuffer},
		{Name: "table-cache", Doc: "a table cache in which tables evict each other", Find: tableCache},
		{
			Name: "session-memory", Doc: "session buffers that do not fit into memory at max_connections",
			Find: sessionMemory,
		},
		{Name: "durability", Doc: "what a crash may cost with the settings as they are", Find: durability},
		{Name: "old-defaults", Doc: "settings that keep the default of an older version", Find: oldDefaults},
		{
			Name: "file-descriptors",
			Doc:  "files and sockets that the settings may take, compared with the server's limit",
			Find: fileDescriptors,
		},
		{
			Name: "pool-layout", Doc: "a buffer pool in very many chunks, or settings of it without effect",
			Find: poolLayout,
		},
	}
}
