package host

import (
	"path/filepath"
	"strconv"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Snapshot returns what a snapshot holds of the machine that a server with a pid of this machine runs on. datadir is
// the server's data directory as the server sees it, "" where it is not known; home is Dyno's, "" where that does not
// matter. What could be read is in the result also with an error.
func Snapshot(pid int, datadir, home string) (snapshot.Host, error) {
	facts, err := FactsOf(pid)
	k := ReadTuning(pid, datadir)
	h := snapshot.Host{
		ServerPID: pid, CPUs: facts.CPUs, MemBytes: facts.MemBytes, MemLimit: facts.MemLimit, Kernel: facts.Kernel,
		Settings: k.Settings, Limits: k.Limits, Process: k.Process, NUMANodes: k.NUMANodes,
		DatadirDev: k.Device, DatadirFS: k.Filesystem, DatadirOpt: k.MountOptions,
	}
	if datadir != "" {
		datadir = filepath.Join("/proc", strconv.Itoa(pid), "root", datadir) // as the server sees it
		if size, free, err := Room(datadir); err == nil {
			h.DatadirSize, h.DatadirFree = known.Of(size), known.Of(free)
			h.DatadirShared = home != "" && SameDisk(datadir, home)
		}
	}
	return h, err
}
