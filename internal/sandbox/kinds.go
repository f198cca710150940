package sandbox

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// kinds are the makers of the servers that there are; what nothing is said of is of the first one's.
type kinds []maker.Maker

// load reads the record; ok is false when there is none, for the sandbox is not complete.
func (k kinds) load(dir string) (r record, ok bool, err error) {
	if r, ok, err = readRecord(dir); err != nil || !ok {
		return r, ok, err
	}
	if len(k) == 0 {
		return record{}, false, fmt.Errorf("read %s: there are no makers of servers", recordFile(dir))
	}
	r.Server.Maker = k[0]
	for _, m := range k {
		if slices.Contains(m.Traits().Flavors, r.Server.Flavor) {
			r.Server.Maker = m
		}
	}
	return r, true, nil
}

// serverAt is ask, whose answer is kept.
func (k kinds) serverAt(ctx context.Context, path string, origin Origin) (Server, error) {
	s, err := askOnce(ctx, path, "--version", func() (Server, error) { return k.ask(ctx, path, origin) })
	s.Origin = origin
	return s, err
}

// ask runs a server program for its version, as the servers' account.
func (k kinds) ask(ctx context.Context, path string, origin Origin) (Server, error) {
	s := Server{Path: path, Origin: origin}
	out, err := version(ctx, s, k.askVersion(path)...)
	if err != nil {
		return Server{}, fmt.Errorf("ask %s for its version: %w: %s", path, err, firstLine(out))
	}
	for _, m := range k {
		var ok bool
		if s.Flavor, s.Version, ok = m.Traits().Version(out); ok {
			s.Maker = m
			return s, nil
		}
	}
	return Server{}, fmt.Errorf("ask %s for its version: %q is not the answer of a server", path, firstLine(out))
}

// programs are the names of server programs.
func (k kinds) programs() (names []string) {
	for _, m := range k {
		names = append(names, m.Traits().Programs...)
	}
	return names
}

// askVersion has the program at a path print its version; one whose name tells no family may be of the first.
func (k kinds) askVersion(path string) []string {
	for _, m := range k {
		if t := m.Traits(); slices.Contains(t.Programs, filepath.Base(path)) {
			return t.AskVersion
		}
	}
	if len(k) == 0 {
		return nil
	}
	return k[0].Traits().AskVersion
}

// version returns what a program of a build answers to the question for its version.
func version(ctx context.Context, s Server, how ...string) (said string, err error) {
	a, err := serverAccount()
	if err != nil {
		return "", err
	}
	if err := a.canReach(s.Path, "use a build elsewhere"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return a.run(ctx, append(s.Launcher(), how...), "/", "/", nil) // our own directory may be gone
}

func (k kinds) resolvePath(ctx context.Context, spec string) (Server, error) {
	path, err := filepath.Abs(spec)
	if err != nil {
		return Server{}, wrap("find server", spec, err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return Server{}, wrap("find server", spec, fmt.Errorf("%w: %w", ErrNoServer, err))
	}
	if fi.IsDir() {
		return k.resolveDir(ctx, path)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return Server{}, wrap("find server", spec, err)
	}
	s, err := k.serverAt(ctx, path, OfDir)
	if err != nil {
		return Server{}, wrap("find server", spec, fmt.Errorf("%w: %w", ErrNoServer, err))
	}
	return s, nil
}

// resolveDir returns the server in the root of an unpacked build, or in the directory of its program.
func (k kinds) resolveDir(ctx context.Context, dir string) (Server, error) {
	cause := ErrNoServer
	for _, place := range places {
		for _, name := range k.programs() {
			path, err := filepath.EvalSymlinks(filepath.Join(dir, place, name))
			if err != nil {
				continue
			}
			s, err := k.serverAt(ctx, path, OfDir)
			if err == nil {
				return s, nil
			}
			if ctx.Err() != nil {
				return Server{}, ctx.Err()
			}
			cause = fmt.Errorf("%w: %w", ErrNoServer, err)
		}
	}
	return Server{}, wrap("find server", dir, hint(cause, "no program mariadbd, mysqld or postgres that runs was "+
		"found in "+strings.Join(places[1:], ", ")))
}

// needed returns the name of a file below a server's tree, "" when no server reads it.
func (k kinds) needed(name string) string {
	for _, m := range k {
		for _, o := range m.Traits().Needless {
			if m, _ := path.Match(o, name); m || strings.HasPrefix(name, o+"/") {
				return ""
			}
		}
	}
	return name
}

// ofVendor says where a file of a vendor's archive goes.
func (k kinds) ofVendor(name string) string {
	if top, rest, _ := strings.Cut(name, "/"); !layout[top] {
		name = rest
	}
	return k.needed(name)
}
