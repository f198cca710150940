package loader

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
)

func TestPreflightMemory(t *testing.T) {
	const gib = 1 << 30
	f := func(bytes uint64, known bool, pool, memory uint64, method string, severity load.Severity, text string) {
		t.Helper()
		p := &preflight{vars: map[string]string{"innodb_flush_method": method}}
		p.memory(bytes, known, pool, memory)
		said(t, p, severity, text)
	}
	f(gib, true, 2*gib, 8*gib, "fsync", "", "")
	f(3*gib, true, 2*gib, 8*gib, "O_DIRECT", load.Note, "reads go to the disk")
	f(3*gib, true, 2*gib, 8*gib, "fsync", load.Warn, "not from the disk")
	f(7*gib, true, 2*gib, 8*gib, "fsync", load.Note, "or to the memory of the operating system")
	f(3*gib, true, 2*gib, 0, "fsync", load.Note, "the tables take 3 GiB, the buffer pool has 2 GiB")
	f(3*gib, false, 2*gib, 8*gib, "fsync", "", "")
	f(gib, true, 15*gib, 16*gib, "O_DIRECT", load.Warn, "leaves nothing of the 16 GiB")
}
