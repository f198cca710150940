package host

import (
	"testing"

	"dyno/test/snap"
)

// filesystem is the machine with so many GiB of a filesystem free.
func filesystem(free, size float64) *snap.Made {
	return machine().Gauge("node_filesystem_avail_bytes", free*(1<<30), "mountpoint", "/data").Gauge("node_filesystem_size_bytes", size*(1<<30), "mountpoint", "/data")
}

func TestDiskSpace(t *testing.T) {
	found(t, diskSpace, filesystem(4, 100), "warning: the filesystem of the data has 4 GiB free of 100 GiB")
	found(t, diskSpace, filesystem(1, 100), "critical: the filesystem of the data has 1 GiB free of 100 GiB")
	found(t, diskSpace, filesystem(0, 1), "critical: the filesystem of the data has 0 B free of 1 GiB")
	found(t, diskSpace, filesystem(40, 4000), "warning: the filesystem of the data has 40 GiB free of 3.91 TiB")
}

func TestDiskSpaceSilent(t *testing.T) {
	found(t, diskSpace, machine()) // not observed
	found(t, diskSpace, filesystem(6, 100))
	found(t, diskSpace, filesystem(100, 10_000))
}
