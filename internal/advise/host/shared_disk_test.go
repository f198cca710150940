package host

import (
	"testing"

	"dyno/internal/known"
	"dyno/test/snap"
)

// disk puts the data on a file system of so many GiB, of which so much is free.
func disk(size, free float64, shared bool) *snap.Made {
	m := machine()
	m.S.Host.DatadirShared, m.S.Host.DatadirSize, m.S.Host.DatadirFree = shared, known.Of(uint64(size*(1<<30))), known.Of(uint64(free*(1<<30)))
	return m
}

func TestSharedDisk(t *testing.T) {
	found(t, sharedDisk, disk(100, 3, true), "warning: the data directory shares a file system with Dyno's home, and 3 GiB of it are free")
	found(t, sharedDisk, disk(100, 8, true), "info: the data directory shares a file system with Dyno's home, and 8 GiB of it are free")
	found(t, sharedDisk, disk(10, 3, true), "info: the data directory shares a file system with Dyno's home, and 3 GiB of it are free")
}

func TestSharedDiskSilent(t *testing.T) {
	found(t, sharedDisk, machine())
	found(t, sharedDisk, disk(100, 3, false))
	found(t, sharedDisk, disk(100, 12, true))
}
