package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/limit"
)

// State says what has become of a sandbox.
type State string

const (
	Starting   State = "starting"   // a dyno is making or starting it right now
	Running    State = "running"    // it serves, as far as its process tells
	Orphan     State = "orphan"     // it serves, but the program it was made for is gone
	Stopped    State = "stopped"    // by Down; Up starts it again
	Dead       State = "dead"       // its process ended without being told to; Up starts it again
	Unfinished State = "unfinished" // its maker was killed before it first answered; good for Remove alone
)

// Sandbox is one private server.
type Sandbox struct {
	Name     string            `json:"name"`
	State    State             `json:"state"`
	Server   Server            `json:"server"`
	Dir      string            `json:"dir"`
	Socket   string            `json:"socket,omitempty"`
	Port     int               `json:"port,omitempty"` // on 127.0.0.1
	PID      int               `json:"pid,omitempty"`  // 0 when no process of it runs
	Owner    int               `json:"owner,omitempty"`
	Account  string            `json:"account,omitempty"` // the server runs as, "" when it is who started it
	Created  time.Time         `json:"created"`
	Started  time.Time         `json:"started"` // last time; zero before the first
	Settings map[string]string `json:"settings,omitempty"`
	Data     string            `json:"data,omitempty"`    // key of the data set it was made of
	CPUs     string            `json:"cpus,omitempty"`    // it was placed on, "" when nobody asked
	Limits   []limit.State     `json:"limits,omitempty"`  // those asked for, as they are now
	Notes    []string          `json:"notes,omitempty"`   // what the server said about settings it changed or left out
	Problem  string            `json:"problem,omitempty"` // why its record cannot be read

	Filesystem string `json:"filesystem,omitempty"` // of its data's own loop device, "" when they are where the yard is

	serverUID int // user that the server runs as; -1 when not known, which is nobody's
}

// List returns all sandboxes of the yard by name, also those that are not complete. It changes nothing.
func (y *Yard) List(ctx context.Context) ([]Sandbox, error) {
	list := []Sandbox{}
	unlock, err := flock(ctx, sandboxesIn(y.Home))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, wrap("list sandboxes", "", err)
	}
	defer unlock()
	entries, err := os.ReadDir(sandboxesIn(y.Home))
	if err != nil {
		return nil, wrap("list sandboxes", "", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, y.look(e.Name()))
		}
	}
	return list, nil
}

// Find returns the sandbox with the name. When there is none its error is ErrNotFound.
func (y *Yard) Find(ctx context.Context, name string) (Sandbox, error) {
	const op = "find sandbox"
	if err := CheckName(name); err != nil {
		return Sandbox{}, wrap(op, "", err)
	}
	unlock, err := flock(ctx, sandboxesIn(y.Home))
	if err != nil {
		return Sandbox{}, wrap(op, name, notFound(err))
	}
	defer unlock()
	if _, err := os.Stat(sandboxDir(y.Home, name)); err != nil {
		return Sandbox{}, wrap(op, name, notFound(err))
	}
	return y.look(name), nil
}

// look tells what a sandbox is. The caller holds the lock of all sandboxes.
func (y *Yard) look(name string) Sandbox {
	dir := sandboxDir(y.Home, name)
	held := false
	if unlock, h, err := tryFlock(dir); err == nil {
		held = h
		if unlock != nil {
			unlock()
		}
	}
	r, ok, err := y.load(dir)
	s := r.sandbox(name, dir)
	switch {
	case err != nil:
		s.Problem = err.Error()
	case held && (!ok || !r.Ready || s.PID == 0):
		s.State = Starting
	}
	return s
}

// sandbox is what the record says now.
func (r record) sandbox(name, dir string) Sandbox {
	s := Sandbox{
		Name: name, Server: r.Server, Dir: dir, Port: r.Port, Owner: r.Owner.PID, Account: r.Account,
		Created: r.Created, Started: r.Started, Settings: r.Settings, Notes: r.Notes, Data: r.Data,
		CPUs: r.CPUs, Limits: r.limits(dir), Filesystem: r.filesystem(), serverUID: -1,
	}
	if r.Run != "" {
		s.Socket = r.socket()
	}
	// Not the owner of the run directory: where that lies in /tmp, and was cleaned away, others can make it.
	if fi, err := os.Lstat(filepath.Join(dir, "data")); err == nil && ownerID(fi) != 0 {
		s.serverUID = ownerID(fi)
	}
	alive := r.Process.Alive()
	if alive {
		s.PID = r.Process.PID
	}
	switch {
	case !r.Ready:
		s.State = Unfinished
	case alive && r.Owner.PID != 0 && !r.Owner.Alive():
		s.State = Orphan
	case alive:
		s.State = Running
	case r.Process.PID != 0:
		s.State = Dead
	default:
		s.State = Stopped
	}
	return s
}
