package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"dyno/internal/progress"
)

// offer is a suite of Debian that has builds of a flavor.
type offer struct {
	suite    string
	packages []string
}

// offers returns where a flavor is to be had for a Debian release, best first.
func offers(flavor, codename string) []offer {
	switch flavor {
	case "mysql":
		return []offer{{"sid", []string{"mysql-server-core", "mysql-client-core"}}} // released suites have none
	case "mariadb":
		return []offer{{codename, []string{"mariadb-server-core", "mariadb-client-core"}}}
	}
	return nil
}

// Install puts a server build beside the system's own: it has a private apt fetch Debian's packages of it, with all libraries,
// checks their signatures and hashes, unpacks them into the yard, and asks the result for its version. The system's apt, its
// packages and its services are left as they are; no privilege is needed. MySQL comes from Debian's suite sid, MariaDB from this
// machine's own release. A build of the yard that fits spec already is returned as it is.
//
// It needs Debian, a mirror that can be reached, and some 700 MB of disk while it works. With an error, and when ctx ends, nothing
// is left behind; after a kill the next Install goes on with what was downloaded. Its causes are ErrNoServer when no suite has what
// spec asks for, ErrFetch with what could not be fetched, ErrNoSpace and ErrBusy.
func (y *Yard) Install(ctx context.Context, spec string, sink progress.Sink) (Server, error) {
	s, err := y.install(ctx, spec, sink)
	return s, wrap("install server", spec, err)
}

func (y *Yard) install(ctx context.Context, spec string, sink progress.Sink) (Server, error) {
	flavor, version, ok := parseSpec(spec)
	if !ok {
		return Server{}, hint(fmt.Errorf("%w: not a spec", ErrNoServer), "name a flavor with or without a version: mysql, mysql@9.7, mariadb@10.11")
	}
	if err := makeDirs(y.servers()); err != nil {
		return Server{}, err
	}
	defer os.Remove(y.servers()) // if it stays empty
	unlock, held, err := tryFlock(y.servers())
	if err != nil {
		return Server{}, err
	}
	if held {
		return Server{}, hint(fmt.Errorf("%w, which installs a server", ErrBusy), "wait for it to end")
	}
	defer unlock()
	found, err := y.Servers(ctx)
	if err != nil {
		return Server{}, err
	}
	for _, s := range found {
		if s.Origin == Installed && s.Flavor == flavor && matches(s.Version, version) {
			return s, nil
		}
	}
	id, codename, err := osRelease("/etc/os-release")
	if err != nil || id != "debian" {
		return Server{}, hint(fmt.Errorf("%w: builds are taken from Debian's packages, and this is not Debian", ErrNoServer),
			"unpack the server's archive and name its directory with --server-dir")
	}
	for _, tool := range []string{"apt-get", "apt-config", "dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return Server{}, err
		}
	}
	list := offers(flavor, codename)
	if len(list) == 0 {
		return Server{}, hint(fmt.Errorf("%w: Debian has no packages of %s", ErrNoServer, flavor), howToGet(flavor, version))
	}
	dir := y.sources
	if dir == "" {
		dir = "/etc/apt"
	}
	sources, err := readAptSources(dir)
	if err != nil {
		return Server{}, err
	}
	source, ok := archive(sources, codename)
	if !ok {
		return Server{}, hint(fmt.Errorf("%w: the sources of apt in %s name no mirror of Debian", ErrFetch, dir), "add one to /etc/apt/sources.list.d")
	}
	var have []string
	for _, o := range list {
		s, got, err := y.take(ctx, o, source, flavor, version, sink)
		if err != nil || got == "" {
			return s, err
		}
		have = append(have, fmt.Sprintf("%s %s in %s", flavor, got, o.suite))
	}
	return Server{}, hint(fmt.Errorf("%w: Debian has %s", ErrNoServer, strings.Join(have, ", ")),
		"leave the version out to take that one, or unpack the archive of "+spec+" and name its directory with --server-dir")
}

// take installs what an offer has. When that is not the version asked for it returns the one there is.
func (y *Yard) take(ctx context.Context, o offer, source aptSource, flavor, version string, sink progress.Sink) (s Server, other string, err error) {
	staging := filepath.Join(y.servers(), ".staging-"+o.suite)
	defer func() { err = inline([]error{err, os.RemoveAll(staging)}) }()
	if err := makeDirs(staging); err != nil {
		return s, "", err
	}
	if err := checkSpace(staging, 64<<20); err != nil {
		return s, "", err
	}
	a, err := newApt(ctx, filepath.Join(staging, "apt"), source, o.suite)
	if err != nil {
		return s, "", err
	}
	mirror := "the mirror"
	if u, err := url.Parse(source.uris[0]); err == nil && u.Host != "" {
		mirror = u.Host
	}
	p := progress.Progress{Step: "reading the lists of Debian " + o.suite + " from " + mirror, Started: time.Now()}
	err = watch(sink, p, nil, func() error { _, err := a.run(ctx, "update", "-q"); return err })
	if err != nil {
		return s, "", err
	}
	debs, err := a.plan(ctx, o.packages...)
	if err != nil {
		return s, "", err
	}
	var total int64
	offered := ""
	for _, d := range debs {
		total += d.bytes
		if v, ok := debVersion(d.name, o.packages[0]); ok {
			offered = v
		}
	}
	if offered == "" {
		return s, "", fmt.Errorf("%w: Debian %s has no package %s", ErrNoServer, o.suite, o.packages[0])
	}
	if !matches(offered, version) {
		return s, offered, nil
	}
	if err := checkSpace(staging, 6*total); err != nil { // packages and what they unpack to, about five times their size
		return s, "", err
	}
	p = progress.Progress{Step: fmt.Sprintf("downloading %s %s", flavor, offered), Unit: "bytes", Total: float64(total), Started: time.Now()}
	err = watch(sink, p, a.held, func() error {
		_, err := a.run(ctx, append([]string{"install", "-qq", "-y", "--download-only"}, o.packages...)...)
		return err
	})
	if err != nil {
		return s, "", err
	}
	tree := filepath.Join(staging, "tree")
	if err := os.RemoveAll(tree); err != nil {
		return s, "", err
	}
	if err := makeDir(tree); err != nil {
		return s, "", err
	}
	p = progress.Progress{Step: "unpacking", Unit: "bytes", Total: float64(total), Started: time.Now()}
	err = a.unpack(ctx, debs, tree, func(d deb) {
		p.Done, p.At = p.Done+float64(d.bytes), time.Now()
		sink.Report(p)
	})
	if err != nil {
		return s, "", err
	}
	if err := prune(tree); err != nil {
		return s, "", err
	}
	if err := os.Chmod(tree, 0o755); err != nil {
		return s, "", err
	}
	s, err = resolvePath(ctx, tree)
	if err != nil {
		return s, "", fmt.Errorf("what was unpacked does not run: %w", err)
	}
	if s.Flavor != flavor || !matches(s.Version, version) {
		return Server{}, "", fmt.Errorf("%w: what was unpacked says it is %s", ErrNoServer, s.Spec())
	}
	home := filepath.Join(y.servers(), s.Flavor+"-"+s.Version)
	if err := os.RemoveAll(home); err != nil { // it was not found above, so it does not run
		return s, "", err
	}
	if err := os.Rename(tree, home); err != nil {
		return s, "", err
	}
	s.Path, s.Origin = home+strings.TrimPrefix(s.Path, tree), Installed
	return s, "", nil
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

var debName = regexp.MustCompile(`^([a-z0-9+.-]+)_(?:\d+(?:%3a|:))?(\d+\.\d+\.\d+)[^_]*_`)

// debVersion returns the upstream version in the name of a package file of the package.
func debVersion(file, pkg string) (string, bool) {
	m := debName.FindStringSubmatch(file)
	if m == nil || m[1] != pkg {
		return "", false
	}
	return m[2], true
}

// needless are parts of Debian packages that no server reads.
var needless = []string{
	"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bug",
	"usr/share/perl", "usr/share/perl5", "usr/share/apport", "usr/share/bash-completion", "usr/lib/*/perl*", "usr/lib/*/gconv", "lib/*/gconv",
	"usr/lib/systemd", "lib/systemd", "usr/share/libc-bin", "usr/share/gcc", "usr/share/gdb", "etc", "var",
}

// tools are the programs worth their size; each of MySQL's holds a whole client library.
var tools = []string{"mariadb*", "mysql", "mysqladmin", "mysqldump", "mysqlbinlog"}

func prune(tree string) error {
	bins, err := os.ReadDir(filepath.Join(tree, "usr/bin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, b := range bins {
		keep := false
		for _, t := range tools {
			if ok, _ := filepath.Match(t, b.Name()); ok {
				keep = true
			}
		}
		if !keep {
			if err := os.RemoveAll(filepath.Join(tree, "usr/bin", b.Name())); err != nil {
				return err
			}
		}
	}
	for _, pattern := range needless {
		paths, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			return err
		}
		for _, p := range paths {
			if err := os.RemoveAll(p); err != nil {
				return err
			}
		}
	}
	return nil
}
