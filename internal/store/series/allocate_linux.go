package series

import (
	"os"
	"syscall"
)

// allocate takes space on the disk for the first bytes of a file.
func allocate(f *os.File, bytes int64) error { return syscall.Fallocate(int(f.Fd()), 0, 0, bytes) }
