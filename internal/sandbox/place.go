package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/dyno-perf/dyno/internal/host"
)

// readCPUs checks a list of CPUs that a server is to run on, and writes it the shortest way. "" stays "".
func readCPUs(list string) (string, error) {
	if list == "" {
		return "", nil
	}
	cpus, err := host.ParseCPUs(list)
	if err == nil {
		err = host.CheckCPUs(cpus)
	}
	if err != nil {
		return "", err
	}
	return host.FormatCPUs(cpus), nil
}

// pin lets a process and what it becomes run on a list of CPUs. "" is all that this program was started with, also when
// it has pinned itself to fewer since.
func pin(pid int, list string) error {
	want, err := host.Allowed()
	if list != "" {
		want, err = host.ParseCPUs(list)
	}
	if err != nil {
		return err
	}
	if have, err := host.Affinity(pid); list == "" && err == nil && slices.Equal(have, want) {
		return nil
	}
	return host.PinProcess(pid, want)
}

// ended reports whether an error is that of a process that has ended meanwhile: workers of a server come and go.
func ended(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// Place moves all threads of a running server to a list of CPUs, "0,2-3"; "" is all that this program may use. It holds
// until the next Up. Its causes are ErrNotFound, ErrStopped, ErrBusy, host.ErrCPUs, and host.ErrNotAllowed for a CPU
// outside of the mask that this program was started with.
func (y *Yard) Place(ctx context.Context, name, cpus string) error {
	const op = "place sandbox"
	cpus, err := readCPUs(cpus)
	if err != nil {
		return wrap(op, name, err)
	}
	return wrap(op, name, y.changeLimits(ctx, name, func(dir string, r *record) error {
		if err := pin(r.Process.PID, cpus); err != nil {
			return err
		}
		// What it starts from here on is there already. PostgreSQL has a process for each session.
		for _, child := range host.Children(r.Process.PID) {
			if err := pin(child, cpus); err != nil && !ended(err) {
				return err
			}
		}
		r.CPUs = cpus
		return nil
	}))
}

// changeLimits calls do with the record of a running sandbox, locked, and saves what it made of it, also after an
// error.
func (y *Yard) changeLimits(ctx context.Context, name string, do func(dir string, r *record) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	release, _, err := acquire(ctx, y.Home, name, false)
	if err != nil {
		return err
	}
	defer release()
	dir := sandboxDir(y.Home, name)
	r, ok, err := y.load(dir)
	if err != nil {
		return err
	}
	if !ok || !r.Ready || !r.Process.Alive() {
		return hint(ErrStopped, fmt.Sprintf("start it with `dyno sandbox up %s`", name))
	}
	err = do(dir, &r)
	return inline([]error{err, r.save(dir)})
}
