package host

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Snapshot returns what a snapshot holds of the machine that a server with a pid of this machine runs on. datadir is
// the server's data directory as the server sees it, "" where it is not known; home is Dyno's, "" where that does not
// matter. What could be read is in the result also with an error.
func Snapshot(pid int, datadir, home string) (snapshot.Host, error) {
	return SnapshotOf(FS{}, pid, datadir, home)
}

// SnapshotOf is Snapshot, reading f. On another machine home is not looked at.
func SnapshotOf(f FS, pid int, datadir, home string) (snapshot.Host, error) {
	facts, err := f.FactsOf(pid)
	k := f.ReadTuning(pid, datadir)
	h := snapshot.Host{
		ServerPID: pid, CPUs: facts.CPUs, MemBytes: facts.MemBytes, MemLimit: facts.MemLimit, Kernel: facts.Kernel,
		Settings: k.Settings, Limits: k.Limits, Process: k.Process, NUMANodes: k.NUMANodes,
		DatadirDev: k.Device, DatadirFS: k.Filesystem, DatadirOpt: k.MountOptions,
	}
	if datadir != "" {
		if size, free, err := RoomOf(f, pid, datadir); err == nil {
			h.DatadirSize, h.DatadirFree = known.Of(size), known.Of(free)
			h.DatadirShared = Here(f) && home != "" && SameDisk(seenBy(pid, datadir), home)
		}
	}
	return h, err
}

// Server says how a server's machine is read: as this one, or through a shell on another.
type Server struct {
	Local func(context.Context) (pid int, ok bool) // its process when it runs here
	// Remote is the machine that it is reached through, nil for none. It is closed. There finds its process there.
	Remote  *Remote
	There   func(context.Context, FS) (pid int, err error)
	Datadir string // as the server sees it
	Home    string // Dyno's
}

// Of returns what a snapshot holds of a server's machine, and whether that is this one. Where it is not seen all is
// unknown, which is no error when the server runs elsewhere: the sources of metrics say so.
func Of(ctx context.Context, s Server) (h snapshot.Host, here bool, err error) {
	if s.Remote == nil {
		pid, ok := s.Local(ctx)
		if !ok {
			return h, false, nil
		}
		h, err = Snapshot(pid, s.Datadir, s.Home)
		return h, true, err
	}
	defer s.Remote.Close()
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	s.Remote.Begin()
	f, err := s.Remote.FS(ctx)
	if err != nil {
		return h, false, err
	}
	pid, err := s.There(ctx, f)
	switch {
	case errors.Is(err, ErrElsewhere):
		return h, false, nil
	case errors.Is(err, ErrHidden):
		pid, err = 0, nil // the machine is known, not the process
	case err != nil:
		return h, false, err
	}
	h, err = SnapshotOf(f, pid, s.Datadir, "")
	if pid == 0 {
		err = nil
	}
	return h, false, err
}

// seenBy returns a path as a process sees it.
func seenBy(pid int, path string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), "root", path)
}
