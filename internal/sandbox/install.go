package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/progress"
)

// Install puts a server build beside the system's own. It takes the newest that spec means from where Offers tells:
// Debian's packages with all their libraries through a private apt, which checks their signatures and hashes; archives
// from Maven Central whose hashes this program knows; packages of npm, whose hashes its registry has. Registries are
// reached as their own clients would, with their mirrors and logins (see docs/servers.md). It unpacks the build into
// the yard and asks it for its version; only then it is there, whole. The system's packages and services are left as
// they are, and no privilege is needed. A build of the yard that fits spec already is returned as it is.
//
// With an error, and when ctx ends, no build is left behind. An archive fetched in part stays below the yard's servers,
// and the next Install of it goes on from there; RemoveAll removes it. Its causes are ErrNoServer when nobody has what
// spec asks for, ErrFetch with what could not be fetched or is not what it should be, ErrNoSpace and ErrBusy.
func (b *Builds) Install(ctx context.Context, spec string, sink progress.Sink) (Server, error) {
	s, err := b.install(ctx, spec, sink)
	return s, wrap("install server", spec, err)
}

func (b *Builds) install(ctx context.Context, spec string, sink progress.Sink) (Server, error) {
	flavor, version, ok := parseSpec(spec)
	if !ok {
		return Server{}, hint(fmt.Errorf("%w: not a flavor", ErrNoServer), "name a flavor with or without a version: "+
			"mysql, mysql@8.0, mariadb@10.11, postgres@17")
	}
	var s Server
	err := b.installing(func() (err error) {
		var ok bool
		if s, ok, err = b.has(ctx, flavor, version); err != nil || ok {
			return err
		}
		s, err = b.newest(ctx, flavor, version, sink)
		return err
	})
	return s, err
}

// installing calls install while nobody else installs a server.
func (b *Builds) installing(install func() error) error {
	if err := makeAll(b.servers, makeLocked); err != nil {
		return err
	}
	defer os.Remove(b.servers) // if it stays empty
	unlock, held, err := tryFlock(b.servers)
	if err != nil {
		return err
	}
	if held {
		return hint(fmt.Errorf("%w, which installs a server", ErrBusy), "wait for it to end")
	}
	defer unlock()
	return install()
}

// reachable returns an error when the servers' account cannot enter the directory of builds.
func (b *Builds) reachable() error {
	a, err := serverAccount()
	if err != nil {
		return err
	}
	return a.canReach(b.servers, "set DYNO_HOME to a directory elsewhere")
}

// newest installs the newest build that an offer has.
func (b *Builds) newest(ctx context.Context, flavor dbms.Flavor, version string, sink progress.Sink) (Server, error) {
	if err := b.reachable(); err != nil { // before minutes of fetching
		return Server{}, err
	}
	var other []string
	for _, o := range b.offers() {
		if o.Flavor != flavor || !o.may(version) {
			continue
		}
		s, has, err := b.take(ctx, o, version, sink)
		if err != nil || has == "" {
			return s, err
		}
		other = append(other, fmt.Sprintf("%s (%s)", has, o.From))
	}
	return Server{}, none(b.Offers(), flavor, version, other)
}

// has returns the build of the yard that fits.
func (b *Builds) has(ctx context.Context, flavor dbms.Flavor, version string) (s Server, ok bool, err error) {
	found, err := b.Servers(ctx)
	if err != nil {
		return s, false, err
	}
	for _, s := range found {
		if s.Origin == Installed && s.Flavor == flavor && matches(s.Version, version) {
			return s, true, nil
		}
	}
	return s, false, nil
}

// Missing returns what Install would fetch for spec; not ok when the yard has it, or when nobody does.
func (b *Builds) Missing(ctx context.Context, spec string) (o Offer, ok bool) {
	flavor, version, ok := parseSpec(spec)
	if !ok {
		return Offer{}, false
	}
	if _, have, err := b.has(ctx, flavor, version); err != nil || have {
		return Offer{}, false
	}
	for _, o := range b.offers() {
		if o.Flavor == flavor && o.may(version) {
			return o.Offer, true
		}
	}
	return Offer{}, false
}

// take installs what an offer has. When that is not the version asked for it returns the one there is.
func (b *Builds) take(
	ctx context.Context, o offer, version string, sink progress.Sink,
) (s Server, other string, err error) {
	staging := filepath.Join(b.servers, ".staging-"+string(o.Flavor)+"-"+o.Version)
	s, err = b.stage(ctx, staging, func(tree string) (err error) {
		other, err = o.from.get(ctx, job{o.Flavor, version, o.Licence, staging, tree, sink})
		if err == nil && other != "" {
			err = errOtherVersion
		}
		return err
	}, func(s Server) error {
		if s.Flavor != o.Flavor || !matches(s.Version, version) {
			return fmt.Errorf("%w: what was unpacked says it is %s", ErrNoServer, s.Spec())
		}
		return nil
	})
	if errors.Is(err, errOtherVersion) {
		err = nil
	}
	return s, other, err
}

var errOtherVersion = errors.New("the source has another version")

// stage has fill put a build into the directory tree, and moves it to its home when it runs and check has nothing
// against it.
func (b *Builds) stage(ctx context.Context, staging string, fill func(tree string) error,
	check func(Server) error,
) (s Server, err error) {
	tree := filepath.Join(staging, "tree")
	defer func() { err = inline([]error{err, sweep(staging, err != nil)}) }()
	if err := inline([]error{makeDirs(staging), os.RemoveAll(tree), makeDir(tree)}); err != nil {
		return s, err
	}
	if err := checkSpace(staging, 64<<20); err != nil {
		return s, err
	}
	if err := fill(tree); err != nil {
		return s, err
	}
	if err := letIn(tree); err != nil {
		return s, err
	}
	s, err = b.resolvePath(ctx, tree)
	if err != nil {
		return s, fmt.Errorf("what was unpacked does not run: %w", err)
	}
	if err := check(s); err != nil {
		return Server{}, err
	}
	if err := settle(tree); err != nil {
		return s, err
	}
	home := b.home(s)
	if err := os.RemoveAll(home); err != nil { // nothing that runs
		return s, err
	}
	if err := os.Rename(tree, home); err != nil {
		return s, err
	}
	s.Path, s.Origin = home+strings.TrimPrefix(s.Path, tree), Installed
	return s, nil
}

// home is where a build goes.
func (b *Builds) home(s Server) string {
	return filepath.Join(b.servers, string(s.Flavor)+"-"+s.Version)
}

// sweep removes what an attempt left, apart from downloads when they are worth keeping.
func sweep(staging string, keepDownloads bool) error {
	entries, err := os.ReadDir(staging)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !keepDownloads || e.Name() != "download" {
			errs = append(errs, os.RemoveAll(filepath.Join(staging, e.Name())))
		}
	}
	os.Remove(filepath.Join(staging, "download")) // when there is nothing in them
	os.Remove(staging)
	return inline(errs)
}

// letIn lets the servers' account enter a tree whatever the umask was.
func letIn(tree string) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// settle makes a tree durable: after a power cut a build is whole or not there.
func settle(tree string) error {
	d, err := os.Open(tree)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := syncFilesystem(d); err != nil {
		return fmt.Errorf("write %s to disk: %w", tree, err)
	}
	return nil
}

// watch reports progress while work runs; done tells the bytes so far.
func watch(sink progress.Sink, p progress.Progress, done func() int64, work func() error) error {
	end := make(chan error, 1)
	go func() { end <- work() }()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-end: // work ends with ctx
			p.At, p.End = time.Now(), err == nil
			if done != nil && p.End {
				p.Done = p.Total
			}
			sink.Report(p)
			return err
		case p.At = <-tick.C:
			if done != nil {
				p.Done = float64(done())
			}
			sink.Report(p)
		}
	}
}

// meter reports a step that is done in pieces, a few times a second.
func meter(sink progress.Sink, p progress.Progress) func(done, total int64) {
	p.Unit, p.Started = "bytes", time.Now()
	return func(done, total int64) {
		p.Done, p.Total = float64(done), float64(total)
		if now := time.Now(); done == total || now.Sub(p.At) > 200*time.Millisecond {
			p.At, p.End = now, done == total
			sink.Report(p)
		}
	}
}
