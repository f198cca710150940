package config

import "dyno/internal/advise"

// memoryRules are those about memory and the disk.
func memoryRules() []advise.Rule {
	return []advise.Rule{
		{Name: "io-limit", Doc: "reads that stand in line for a disk which gives no more", Find: ioLimit},
		{Name: "small-buffer-pool", Doc: "a full buffer pool, smaller than what statements work on, with sessions that wait for pages", Find: smallBufferPool},
		{Name: "double-buffering", Doc: "a pool that is too small while the kernel's cache holds the pages that it lacks", Find: doubleBuffering},
		{Name: "small-redo", Doc: "a redo log that is full after seconds of writes, so that pages must be written to make room", Find: smallRedo},
		{Name: "io-capacity", Doc: "background writing held back by innodb_io_capacity while the disk is idle", Find: ioCapacity},
		{Name: "small-log-buffer", Doc: "sessions that wait for room in the log buffer", Find: smallLogBuffer},
		{Name: "table-cache", Doc: "a cache of open tables in which tables push each other out", Find: tableCache},
		{Name: "session-memory", Doc: "buffers of sessions that the memory cannot hold for all who may connect", Find: sessionMemory},
		{Name: "durability", Doc: "what a crash may cost with the settings as they are", Find: durability},
		{Name: "old-defaults", Doc: "settings that hold the default of an older version", Find: oldDefaults},
		{Name: "file-descriptors", Doc: "files and sockets that the settings may take, against what the server may have", Find: fileDescriptors},
		{Name: "pool-layout", Doc: "a buffer pool in very many chunks, or settings of it without effect", Find: poolLayout},
	}
}
