package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Server is a server build that is on this machine.
type Server = maker.Server

// Origin says where a build was found.
type Origin = maker.Origin

// The places where builds are found.
const (
	OnPath    = maker.OnPath
	OfSystem  = maker.OfSystem
	OfDir     = maker.OfDir
	Installed = maker.Installed
)

// places are where server programs lie below the root of an unpacked package or archive.
var places = []string{"", "bin", "sbin", "libexec", "usr/sbin", "usr/bin", "usr/libexec", "native/bin"}

// Builds are the server builds that sandboxes may run: those that were on the machine, and those that Install has put
// there.
type Builds struct {
	// ServerDirs are directories to look for server builds in, beside the usual ones: the root of an unpacked package
	// or archive, or the directory that holds the server program.
	ServerDirs []string

	kinds          // of servers that there are
	servers string // directory of what is installed
	sources string // directory of the system's apt; /etc/apt if empty, changed in tests alone
}

// Servers returns the builds that are on this machine, by flavor and newest first. Each is asked for its version; what
// does not answer as a server is left out.
func (b *Builds) Servers(ctx context.Context) ([]Server, error) {
	type found struct {
		path   string
		origin Origin
	}
	var all []found
	seen := map[string]bool{}
	look := func(origin Origin, dirs ...string) {
		for _, dir := range dirs {
			for _, name := range b.programs() {
				path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
				if err != nil || seen[path] {
					continue
				}
				if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
					continue
				}
				seen[path] = true
				all = append(all, found{path, origin})
			}
		}
	}
	within := func(origin Origin, root string) {
		for _, p := range places {
			look(origin, filepath.Join(root, p))
		}
	}
	for _, root := range b.ServerDirs {
		within(OfDir, root)
	}
	done, err := os.ReadDir(b.servers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap("find servers", "", err)
	}
	for _, d := range done {
		// it may be a link: trees are large
		tree := filepath.Join(b.servers, d.Name())
		if info, err := os.Stat(tree); err == nil && info.IsDir() && !strings.HasPrefix(d.Name(), ".") {
			// dotted ones are being unpacked
			within(Installed, tree)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			look(OnPath, dir)
		}
	}
	look(OfSystem, "/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/usr/local/mysql/bin",
		"/opt/mysql/bin", "/opt/mariadb/bin")
	for _, m := range b.kinds {
		for _, pattern := range m.Traits().Places {
			dirs, _ := filepath.Glob(pattern) // the pattern is a good one
			look(OfSystem, dirs...)
		}
	}

	servers := []Server{}
	for _, f := range all {
		s, err := b.serverAt(ctx, f.path, f.origin)
		if ctx.Err() != nil {
			return nil, wrap("find servers", "", ctx.Err())
		}
		if err == nil {
			servers = append(servers, s)
		}
	}
	slices.SortStableFunc(servers, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Flavor, b.Flavor),
			slices.Compare(maker.Numbers(b.Version), maker.Numbers(a.Version)))
	})
	return servers, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Resolve returns the newest build that spec means: a flavor ("mariadb"), a flavor and version
// ("mariadb@10.11", "mysql@9.7.4", "postgres@17"), or a path to a server program or to the root of an
// unpacked one. An empty spec is "mariadb", then "mysql", then "percona", whichever is there. When
// there is none its error, ErrNoServer, tells which ones there are.
func (b *Builds) Resolve(ctx context.Context, spec string) (Server, error) {
	if strings.ContainsRune(spec, '/') {
		return b.resolvePath(ctx, spec)
	}
	flavor, version, ok := parseSpec(spec)
	if !ok && spec != "" {
		return Server{}, wrap("find server", spec, hint(fmt.Errorf("%w: neither a flavor nor a path", ErrNoServer),
			"name a flavor with or without a version (mariadb, mysql, postgres, mariadb@10.11, mysql@9.7.4, "+
				"postgres@17) or give a path"))
	}
	servers, err := b.Servers(ctx)
	if err != nil {
		return Server{}, err
	}
	for _, s := range servers {
		if (spec == "" && s.Maker == b.kinds[0] || s.Flavor == flavor) && matches(s.Version, version) {
			return s, nil
		}
	}
	have := make([]string, 0, len(servers))
	for _, s := range servers {
		have = append(have, s.Spec())
	}
	what := "no server builds found"
	if len(have) > 0 {
		what = "found " + strings.Join(have, ", ")
	}
	return Server{}, wrap("find server", spec, hint(fmt.Errorf("%w: %s", ErrNoServer, what), howToGet(flavor, version)))
}

// howToGet says how a build gets onto this machine.
func howToGet(flavor dbms.Flavor, version string) string {
	spec := string(flavor)
	if version != "" {
		spec += "@" + version
	}
	switch {
	case flavor == dbms.Percona:
		return "unpack Percona Server's archive and name its directory with --server-dir"
	case spec == "":
		return "run `dyno sandbox install mariadb`, or install Debian's package mariadb-server-core"
	case version == "":
		return "run `dyno sandbox install " + spec + "`, or unpack an archive of it and name its directory with " +
			"--server-dir"
	}
	return "run `dyno sandbox install " + spec + "`, which says what there is if that is not; or unpack an archive " +
		"of it and name its directory with --server-dir"
}
