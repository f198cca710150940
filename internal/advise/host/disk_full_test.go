package host

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/machine"
	"github.com/dyno-perf/dyno/test/snap"
)

// disk puts the data on a file system of so many GiB, of which so much is free.
func disk(size, free float64, shared bool) *snap.Made {
	m := machine.New()
	m.S.Host.DatadirShared, m.S.Host.DatadirSize, m.S.Host.DatadirFree = shared, known.Of(uint64(size*(1<<30))),
		known.Of(uint64(free*(1<<30)))
	return m
}

// TestDiskFull: a disk that is full is found whether Dyno's home is on it or not, and it is one finding.
func TestDiskFull(t *testing.T) {
	const title = ": the file system of the data directory has "
	found(t, diskFull, disk(0.25, 0, false), "critical"+title+"0 B free of 256 MiB")
	found(t, diskFull, disk(0.25, 0.01, false), "warning"+title+"10.2 MiB free of 256 MiB")
	found(t, diskFull, disk(100, 0.5, false), "critical"+title+"512 MiB free of 100 GiB")
	found(t, diskFull, disk(100, 3, false), "warning"+title+"3 GiB free of 100 GiB")
	found(t, diskFull, disk(8192, 19, false), "warning"+title+"19 GiB free of 8 TiB")
	found(t, diskFull, disk(8192, 39, false), "fact"+title+"39 GiB free of 8 TiB")
	found(t, diskFull, disk(100, 3, true), "warning"+title+"3 GiB free of 100 GiB; Dyno's home is on it, too")
	found(t, diskFull, disk(100, 8, true), "fact"+title+"8 GiB free of 100 GiB; Dyno's home is on it, too")
	found(t, diskFull, disk(10, 3, true), "fact"+title+"3 GiB free of 10 GiB; Dyno's home is on it, too")
}

func TestDiskFullSilent(t *testing.T) {
	found(t, diskFull, machine.New())
	found(t, diskFull, disk(100, 12, true))
	found(t, diskFull, disk(100, 12, false))
	found(t, diskFull, disk(8192, 41, false))
}
