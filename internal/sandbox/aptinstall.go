package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/progress"
)

// aptSuite is a suite of Debian as a source.
type aptSuite struct {
	suite    string
	packages []string // the first one has the server
	sources  string   // directory of the system's apt
}

func (b *Builds) aptSuite(suite string, packages []string) aptSuite {
	return aptSuite{suite, packages, b.aptDir()}
}

func (b *Builds) aptDir() string {
	if b.sources != "" {
		return b.sources
	}
	return "/etc/apt"
}

// stanzas returns the sources of the suite as apt reads them, and the host they come from: Debian's own archive and,
// for a release, its security updates, from the mirrors that the system's apt has for them.
func (a aptSuite) stanzas() (text, from string, err error) {
	_, codename, err := osRelease("/etc/os-release")
	if err != nil {
		return "", "", err
	}
	sources, err := readAptSources(a.sources)
	if err != nil {
		return "", "", err
	}
	main, ok := archive(sources, codename)
	if !ok {
		return "", "", hint(fmt.Errorf("%w: the sources of apt in %s name no mirror of Debian", ErrFetch, a.sources),
			"add one to /etc/apt/sources.list.d")
	}
	text = main.stanza(a.suite)
	if s, ok := security(sources); ok && a.suite != "sid" {
		text += "\n" + s.stanza(a.suite+"-security")
	}
	return text, hostOf(main.uris[0]), nil
}

// lists makes a private apt for a suite in dir and reads the suite's lists of packages.
func (a aptSuite) lists(ctx context.Context, dir string, sink progress.Sink) (apt, error) {
	text, from, err := a.stanzas()
	if err != nil {
		return apt{}, err
	}
	private, err := newApt(ctx, dir, text)
	if err != nil {
		return apt{}, err
	}
	p := progress.Progress{Step: "reading the lists of Debian " + a.suite + " from " + from, Started: time.Now()}
	return private, watch(sink, p, nil, func() error { _, err := private.run(ctx, "update", "-q"); return err })
}

func (a aptSuite) get(ctx context.Context, j job) (other string, err error) {
	private, err := a.lists(ctx, filepath.Join(j.dir, "apt"), j.sink)
	if err != nil {
		return "", err
	}
	debs, err := private.plan(ctx, a.packages...)
	if err != nil {
		return "", err
	}
	var total int64
	offered := ""
	for _, d := range debs {
		total += d.bytes
		if v, ok := debVersion(d.name, a.packages[0]); ok {
			offered = v
		}
	}
	if offered == "" {
		return "", fmt.Errorf("%w: Debian %s has no package %s", ErrNoServer, a.suite, a.packages[0])
	}
	if !matches(offered, j.version) {
		return offered, nil
	}
	if err := checkSpace(j.dir, 6*total); err != nil { // packages and what they unpack to, about five times their size
		return "", err
	}
	p := progress.Progress{
		Step: fmt.Sprintf("downloading %s %s (%s)", j.flavor, offered, j.licence), Unit: "bytes",
		Total: float64(total), Started: time.Now(),
	}
	err = watch(j.sink, p, private.held, func() error {
		_, err := private.run(ctx, append([]string{"install", "-qq", "-y", "--download-only"}, a.packages...)...)
		return err
	})
	if err != nil {
		return "", err
	}
	done, report := int64(0), meter(j.sink, progress.Progress{Step: "unpacking"})
	err = private.unpack(ctx, debs, j.tree, func(d deb) {
		done += d.bytes
		report(done, total)
	})
	if err != nil {
		return "", err
	}
	return "", prune(j.tree)
}

var debName = lazyregexp.New(`^([a-z0-9+.-]+)_(?:\d+(?:%3a|:))?(\d+\.\d+\.\d+)[^_]*_`)

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
	"usr/share/perl", "usr/share/perl5", "usr/share/apport", "usr/share/bash-completion", "usr/lib/*/perl*",
	"usr/lib/*/gconv", "lib/*/gconv",
	"usr/lib/systemd", "lib/systemd", "usr/share/libc-bin", "usr/share/gcc", "usr/share/gdb", "etc", "var",
}

// tools are the programs worth their size; each of MySQL's holds a whole client library.
var tools = []string{"mariadb*", "mysqld", "mysql", "mysqladmin", "mysqldump", "mysqlbinlog"}

// prune removes what no server needs from a tree of packages.
func prune(tree string) error {
	for _, dir := range []string{"usr/bin", "usr/sbin", "bin", "sbin"} {
		programs, err := os.ReadDir(filepath.Join(tree, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, p := range programs {
			if slices.ContainsFunc(tools, func(t string) bool { ok, _ := filepath.Match(t, p.Name()); return ok }) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(tree, dir, p.Name())); err != nil {
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
