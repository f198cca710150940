package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// librarySuite is the release of Debian that has all libraries which old builds want. Newer ones have dropped some.
const librarySuite = "bookworm"

// libraryPackages tells which package of Debian has a library.
var libraryPackages = map[string]string{
	"libaio.so.1": "libaio1", "libnuma.so.1": "libnuma1", "libncurses.so.5": "libncurses5",
	"libtinfo.so.5":   "libtinfo5",
	"libncurses.so.6": "libncurses6", "libtinfo.so.6": "libtinfo6", "libcrypt.so.1": "libcrypt1",
	"libstdc++.so.6": "libstdc++6",
	"libgcc_s.so.1":  "libgcc-s1", "libsystemd.so.0": "libsystemd0", "libcap.so.2": "libcap2",
	"libgcrypt.so.20":   "libgcrypt20",
	"libgpg-error.so.0": "libgpg-error0", "liblz4.so.1": "liblz4-1", "liblzma.so.5": "liblzma5",
	"libzstd.so.1": "libzstd1",
	"libnsl.so.1":  "libnsl2", "libz.so.1": "zlib1g",
}

// missingLibrary matches what the loader prints when it does not find a library.
var missingLibrary = lazyregexp.New(`error while loading shared libraries: ([^\s:]+): cannot open shared object file`)

// addMissing puts libraries that the programs of a build want and this system lacks beside the build. Without the
// client a server is still a server: what is missing for it alone is no error.
func (a aptSuite) addMissing(ctx context.Context, j job) error {
	var lists *apt
	if err := letIn(j.tree); err != nil {
		return err
	}
	for _, name := range []string{"mariadbd", "mysqld", "mariadb", "mysql"} {
		program := filepath.Join(j.tree, "bin", name)
		if _, err := os.Stat(program); err != nil {
			continue
		}
		for range len(libraryPackages) {
			library, err := lacks(ctx, program)
			if err != nil {
				return err
			}
			if library == "" {
				break
			}
			if err := a.add(ctx, j, &lists, library); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil && strings.HasSuffix(name, "d") {
				return err
			} else if err != nil {
				break
			}
		}
	}
	return nil
}

// lacks returns a library without which a program does not start here, "" when there is none.
func lacks(ctx context.Context, program string) (string, error) {
	out, err := version(ctx, Server{Path: program}, "--version")
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if m := missingLibrary.FindStringSubmatch(out); m != nil && err != nil {
		return m[1], nil //nolint:nilerr // that the program failed is the answer
	}
	return "", nil // another fault shows when the build is asked for its version
}

// add fetches the package with a library and puts its libraries into the build's own directory.
func (a aptSuite) add(ctx context.Context, j job, private **apt, library string) error {
	pkg, known := libraryPackages[library]
	if !known {
		return fmt.Errorf("%w: the build needs the library %s, which is missing on this system", ErrNoServer, library)
	}
	advice := func(err error) error {
		return hint(fmt.Errorf("the build needs the library %s, which is missing on this system: %w", library, err),
			"install the package "+pkg+" (its name in Debian) and try again")
	}
	if _, ok := thisDebian(); !ok {
		return advice(ErrNoServer)
	}
	if *private == nil {
		p, err := a.lists(ctx, filepath.Join(j.dir, "apt"), j.sink)
		if err != nil {
			return advice(err)
		}
		*private = &p
	}
	file, err := (*private).download(ctx, pkg)
	if err != nil {
		return advice(err)
	}
	unpacked := filepath.Join(j.dir, "library")
	if err := os.RemoveAll(unpacked); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "--extract", file, unpacked).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", path.Base(file), err, firstLine(string(out)))
	}
	to := filepath.Join(j.tree, maker.OwnLibraries)
	if err := makeDirs(to); err != nil {
		return err
	}
	found := false
	for _, pattern := range []string{"usr/lib/*-linux-gnu/*.so*", "lib/*-linux-gnu/*.so*"} {
		files, err := filepath.Glob(filepath.Join(unpacked, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			found = found || path.Base(f) == library
			if err := os.Rename(f, filepath.Join(to, path.Base(f))); err != nil {
				// files, and links to their neighbours
				return err
			}
		}
	}
	if !found {
		return advice(fmt.Errorf("%w: the package %s does not have it", ErrFetch, pkg))
	}
	return nil
}

// download fetches the file of one package, without what it depends on, and returns its path.
func (a apt) download(ctx context.Context, pkg string) (string, error) {
	if _, err := a.run(ctx, "download", "-qq", pkg); err != nil { // into its working directory
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(a.dir, pkg+"_*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%w: apt downloads no file of %s", ErrFetch, pkg)
	}
	return files[0], nil
}
