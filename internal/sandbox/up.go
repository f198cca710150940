package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Config is what Up makes a sandbox of.
type Config struct {
	Name string // see CheckName

	// Server is what Resolve takes. Empty means the build the sandbox already has, and for a new one the one Resolve
	// picks.
	Server string

	// Settings are the server's, as in its own file: {"max_connections": "100", "port": "3307"}. A new start of
	// a stopped sandbox keeps its settings when they are nil and replaces them all otherwise.
	Settings map[string]string

	// CPUs is where the server may run, a list as taskset -c takes ("0,2-3"); empty: where this program may. It holds
	// until the next Up, or Place.
	CPUs string

	// Limits are put on the server before it first runs; what is not in force the Sandbox tells, it is no error. They
	// hold until the next Up, or Limit.
	Limits limit.Limits

	// Data names a data set that SaveData kept: a new sandbox starts with a copy of it. Of a sandbox that is there it
	// must be the one it was made of; its data stay as they are, see RestoreData.
	Data string

	// Filesystem puts a new sandbox's data and its server's temporary files on a loop device with this filesystem
	// ("ext4", "xfs", "btrfs"), FilesystemBytes large or 4 GiB when that is 0; empty: where the yard is. It needs root.
	Filesystem      string
	FilesystemBytes int64

	// Owner says that the sandbox is of no use without the program that calls Up. It survives it all the same, and is
	// then listed as an orphan.
	Owner bool
}

// Up makes a sandbox and starts it, or starts one that was stopped or died, and returns when it answers. Of a new
// sandbox that does not come up nothing is left; one that was there keeps its data and is stopped.
//
// Its causes are ErrBadName, ErrSettings, ErrNoServer, ErrRunning, ErrBusy, ErrPort, ErrNoSpace, ErrAccount,
// ErrFilesystem, ErrNoData, ErrData, host.ErrCPUs, host.ErrNotAllowed, and ErrInitialise, ErrDied and ErrSilent with
// the last errors of the server's log.
func (y *Yard) Up(ctx context.Context, c Config, sink progress.Sink) (Sandbox, error) {
	const op = "start sandbox"
	if err := CheckName(c.Name); err != nil {
		return Sandbox{}, wrap(op, "", err)
	}
	var err error
	if c.CPUs, err = readCPUs(c.CPUs); err != nil {
		return Sandbox{}, wrap(op, c.Name, err)
	}
	if err := c.Limits.Check(); err != nil {
		return Sandbox{}, wrap(op, c.Name, err)
	}
	release, created, err := acquire(ctx, y.Home, c.Name, true)
	if err != nil {
		return Sandbox{}, wrap(op, c.Name, err)
	}
	defer release()
	dir := sandboxDir(y.Home, c.Name)
	r, ok, err := y.load(dir)
	if err != nil {
		return Sandbox{}, wrap(op, c.Name, err)
	}
	if ok && r.Ready {
		err = y.again(ctx, dir, &r, c, sink)
	} else {
		if !created { // somebody was killed while making it
			if err := empty(ctx, dir, r); err != nil {
				return Sandbox{}, wrap(op, c.Name, err)
			}
			if err := os.Chmod(dir, lockedMode); err != nil { // perhaps before makeLocked had done it
				return Sandbox{}, wrap(op, c.Name, err)
			}
		}
		r = record{}
		if err = y.create(ctx, dir, &r, c, sink); err != nil {
			err = inline([]error{err, erase(context.WithoutCancel(ctx), dir, r)})
		}
	}
	if err != nil {
		return Sandbox{}, wrap(op, c.Name, err)
	}
	return r.sandbox(c.Name, dir), nil
}

// create makes and starts a new sandbox in dir, which is empty. The caller erases what it leaves behind with an error.
func (y *Yard) create(ctx context.Context, dir string, r *record, c Config, sink progress.Sink) error {
	if d, ok := y.HasData(c.Data); ok && c.Server == "" {
		c.Server = string(d.Flavor) + "@" + d.Version
	}
	s, err := y.Resolve(ctx, c.Server)
	if err != nil {
		return err
	}
	set, err := readSettings(s.Maker, c.Settings)
	if err != nil {
		return err
	}
	if set.port != 0 { // before the work
		if err := checkPort(set.port); err != nil {
			return err
		}
	}
	a, err := serverAccount()
	if err != nil {
		return err
	}
	if err := inline([]error{
		a.canReach(dir, "set DYNO_HOME to a directory elsewhere"),
		a.canReach(s.Path, "use a build elsewhere"),
	}); err != nil {
		return err
	}
	*r = record{
		Server: s, Settings: c.Settings, Port: set.port, Fixed: set.port != 0, Account: a.name,
		Created: time.Now(), Data: c.Data,
	}
	if r.Owner, err = c.owner(); err != nil {
		return err
	}
	if c.Filesystem != "" {
		r.Image = &image{Filesystem: c.Filesystem, Bytes: c.FilesystemBytes, Tmp: true}
		if r.Image.Bytes == 0 {
			r.Image.Bytes = defaultImage
		}
		if err := CheckFilesystem(r.Image.Filesystem, r.Image.Bytes); err != nil {
			return err
		}
	}
	r.Run = runDir(dir, s.Maker.Traits().Socket(maxPort))
	if err := r.save(dir); err != nil { // from here on Remove finds the run directory wherever it is
		return err
	}
	if c.Filesystem != "" {
		if err := makeImage(ctx, dir, *r.Image, a, sink); err != nil {
			return err
		}
	}
	if c.Data != "" {
		if err := fillData(ctx, y.Home, dir, r, set, a, sink); err != nil {
			return err
		}
		return startServer(ctx, y.Patience, dir, r, c, set, a, sink)
	}
	err = withTemplate(ctx, y.Home, s, set.initial(), a, sink, func(t template) error {
		if err := checkSpace(dir, t.Bytes); err != nil {
			return err
		}
		p := progress.Progress{Step: "copying the data directory", Unit: "bytes", Started: time.Now()}
		for _, size := range t.Files {
			p.Total += float64(size)
		}
		return cloneTree(ctx, t.data(), filepath.Join(dir, "data"), a, func(n int64) {
			p.Done, p.At = p.Done+float64(n), time.Now()
			sink.Report(p)
		})
	})
	if err != nil {
		return err
	}
	return startServer(ctx, y.Patience, dir, r, c, set, a, sink)
}

// owner returns the program that the sandbox is of no use without, zero when it is of use.
func (c Config) owner() (host.Identity, error) {
	if !c.Owner {
		return host.Identity{}, nil
	}
	return host.IdentityOf(os.Getpid())
}

// again starts a sandbox that was complete once.
func (y *Yard) again(ctx context.Context, dir string, r *record, c Config, sink progress.Sink) error {
	asked := c.Settings
	if asked == nil {
		asked = r.Settings
	}
	set, err := readSettings(r.Server.Maker, asked)
	if err != nil {
		return err
	}
	if r.Process.Alive() {
		return hint(fmt.Errorf("%w as process %d", ErrRunning, r.Process.PID), "stop it first with `dyno sandbox "+
			"down`, or choose another name")
	}
	if has := r.filesystem(); c.Filesystem != "" && c.Filesystem != has {
		return hint(fmt.Errorf("%w: the data of this sandbox already exist, on %s", ErrFilesystem,
			cmp.Or(has, "the disk of the yard")), "leave the filesystem out, or choose another name")
	}
	if err := r.mountData(ctx, dir); err != nil { // it is not any more when the machine was started anew
		return err
	}
	if c.Server != "" {
		s, err := y.Resolve(ctx, c.Server)
		if err != nil {
			return err
		}
		if s.Path != r.Server.Path {
			return hint(fmt.Errorf("%w: its data belong to %s at %s", ErrNoServer, r.Server.Spec(), r.Server.Path),
				"leave the server out, or choose another name")
		}
	}
	if c.Data != "" && c.Data != r.Data {
		return hint(fmt.Errorf("%w: the sandbox was made without data set %s", ErrData, c.Data),
			"leave the data set out, or choose another name")
	}
	if r.Restoring { // somebody was killed while restoring it
		if _, err := restoreData(ctx, y.Home, dir, r, sink); err != nil {
			return err
		}
	}
	before := *r
	if c.Settings != nil {
		r.Settings = c.Settings
		if r.Fixed || set.port != 0 {
			r.Port = set.port
		}
		r.Fixed = set.port != 0
	}
	if r.Fixed {
		if err := checkPort(r.Port); err != nil {
			return err
		}
	}
	a, err := ownerOf(filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	if err := checkSpace(dir, 0); err != nil {
		return err
	}
	if err := startServer(ctx, y.Patience, dir, r, c, set, a, sink); err != nil {
		free := r.Held.free(context.WithoutCancel(ctx))
		before.Process, before.Owner, before.Held, before.Logs = host.Identity{}, host.Identity{}, r.Held, r.Logs
		before.Run = r.Run
		return inline([]error{err, free, before.save(dir)})
	}
	return nil
}

// startServer starts the server on its data and waits for its answer. With an error no process of it is left.
func startServer(ctx context.Context, patience time.Duration, dir string, r *record, c Config, set settings, a account,
	sink progress.Sink,
) error {
	for _, d := range []string{"log", "files", "tmp"} {
		if err := makePrivate(filepath.Join(dir, d), a); err != nil {
			return err
		}
	}
	run, err := makeRunDir(dir, r.Run, r.Server.Maker.Traits().Socket(maxPort), a)
	if err != nil {
		return err
	}
	if run != r.Run {
		r.Run = run
		if err := r.save(dir); err != nil { // Remove finds it wherever it is
			return err
		}
	}
	r.CPUs = c.CPUs
	if err := r.Held.free(ctx); err != nil { // of a server that died
		return err
	}
	if err := r.limit(dir, c.Limits); err != nil {
		return err
	}
	if r.Owner, err = c.owner(); err != nil {
		return err
	}
	began, log := time.Now(), r.Server.Maker.Traits().Log
	for try := 1; ; try++ {
		if !r.Fixed && (r.Port == 0 || checkPort(r.Port) != nil) {
			port, err := freePort()
			if err != nil {
				return err
			}
			r.Port = port
		}
		l := openLogs(dir, log)
		r.Logs = l.from
		err := launch(ctx, patience, dir, r, set, a, sink)
		if err == nil {
			r.Notes = l.changed()
			if note := r.filesystemNote(dir); note != "" {
				r.Notes = append(r.Notes, note)
			}
			return r.save(dir)
		}
		said := l.last()
		if ctx.Err() == nil && said != "" {
			if errors.Is(err, ErrSilent) {
				said = "its log ends with: " + said
			}
			err = fmt.Errorf("%w: %s", err, said)
			if errors.Is(err, ErrDied) && len(set.values) > 0 {
				err = hint(err, "correct or leave out the setting that the server complains of")
			}
		}
		if !errors.Is(err, ErrDied) {
			return err
		}
		if log.Leftover != "" && strings.Contains(said, log.Leftover) && time.Since(began) < leftoverLasts {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
			try--
			continue
		}
		// Somebody may have taken the port between our look and the server's bind, if only for a moment.
		taken := checkPort(r.Port)
		switch {
		case taken != nil && r.Fixed:
			return inline([]error{taken, err})
		case r.Fixed || try == 3 || taken == nil && !strings.Contains(said, "Address already in use"):
			return err
		}
		r.Port = 0
	}
}

// gate lets the server's process begin when it reads a word, and ends it when it reads none: as long as the record does
// not name the process, killing us ends it too.
const gate = `read -r word && exec "$@" </dev/null`

// launch makes one attempt at start.
func launch(ctx context.Context, patience time.Duration, dir string, r *record, set settings, a account,
	sink progress.Sink,
) error {
	f := r.Server.Maker
	for _, file := range []string{r.socket(), r.socket() + ".lock", filepath.Join(r.Run, "pid")} { // of one that died
		os.Remove(file)
	}
	if err := releaseLock(filepath.Join(dir, "data"), f.Traits().LockFile); err != nil {
		return err
	}
	command := f.Command(r.Server, maker.Place{Dir: dir, Run: r.Run, Socket: r.socket(), Port: r.Port}, set.options())
	argv := append([]string{"/bin/sh", "-c", gate, "sh"}, command...)

	console, err := os.OpenFile(filepath.Join(dir, consoleName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer console.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: filepath.Join(dir, "data"), Env: environment(dir),
		Files: []*os.File{out, console, console}, Sys: a.session(),
	})
	out.Close()
	if err != nil {
		return err
	}
	died := make(chan struct{})
	go func() { // reaps the server if it ends before us
		_, _ = p.Wait() // how it ended is in its log
		close(died)
	}()
	err = func() error {
		r.Started = time.Now()
		if r.Process, err = host.IdentityOf(p.Pid); errors.Is(err, host.ErrNoProcess) {
			return ErrDied
		} else if err != nil {
			return err
		}
		if err := r.save(dir); err != nil {
			return err
		}
		if err := pin(p.Pid, r.CPUs); err != nil {
			return err
		}
		r.enclose(p.Pid)
		if _, err := in.WriteString("go\n"); err != nil {
			return err
		}
		in.Close()
		if err := await(ctx, f, r.socket(), p.Pid, died, patienceFor(patience), sink); err != nil {
			return err
		}
		r.Ready = true
		return r.save(dir)
	}()
	if err != nil {
		_ = p.Signal(f.Traits().AtOnce) // ours and not reaped before it is dead: no other process can have its PID
		select {
		case <-died:
		case <-time.After(atOnceLasts):
			p.Kill()
			<-died
		}
		r.Process = host.Identity{}
	}
	return err
}
