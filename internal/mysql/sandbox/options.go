package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// byVersion returns the options that a sandbox on a data directory sets for some versions alone; settings come after
// them, so any can be set otherwise.
func byVersion(s maker.Server, data string) []string {
	switch {
	case makesKeys(s):
		if _, err := os.Lstat(filepath.Join(data, certFile)); err != nil { // not made by us
			return nil
		}
		return []string{"--ssl-key=" + filepath.Join(data, keyFile), "--ssl-cert=" + filepath.Join(data, certFile)}
	case !s.Flavor.IsMariaDB() && !maker.Older(s.Version, "8"):
		return []string{"--loose-mysqlx=OFF"} // its second port would be taken by the first sandbox
	}
	return nil
}

// ownRedo reports whether a server takes no redo log but one of the size that it is set to. Without one it makes it,
// which loses nothing after an orderly shutdown (MySQL manual 5.5, Changing the Number or Size of InnoDB Redo Log
// Files).
func ownRedo(s maker.Server) bool { return !s.Flavor.IsMariaDB() && maker.Older(s.Version, "5.6.8") }

// makesKeys reports whether a server without a certificate makes itself one at each start: a key of 4096 bits, which
// takes a second with OpenSSL and up to 40 with the library in the vendor's archives. MySQL keeps the one that it makes
// with its data directory.
func makesKeys(s maker.Server) bool { return s.Flavor.IsMariaDB() && !maker.Older(s.Version, "11.4") }

// paths returns the options that tell a build where its own files are.
func paths(s maker.Server) []string {
	base := s.Base()
	if base == "" {
		return nil
	}
	opts := []string{"--basedir=" + base}
	if s.Root() == "" {
		return opts // an archive finds the rest below its basedir
	}
	if dir := share(s); dir != "" {
		opts = append(opts, "--lc-messages-dir="+dir, "--character-sets-dir="+dir+"/charsets")
	}
	for _, p := range []string{"lib/mysql/plugin", "lib/mariadb/plugin", "lib64/mysql/plugin"} {
		if d := filepath.Join(base, p); maker.IsDir(d) {
			opts = append(opts, "--plugin-dir="+d)
			break
		}
	}
	return opts
}

// share returns the directory of a build's messages, character sets and bootstrap scripts, "" when there is none.
func share(s maker.Server) string {
	base := s.Base()
	if base == "" {
		base = "/usr"
	}
	for _, p := range []string{"share/mysql", "share/mariadb", "share", "share/mysql-8.0"} {
		if d := filepath.Join(base, p); maker.IsDir(d + "/charsets") {
			return d
		}
	}
	return ""
}

// command joins the launcher of a build with options.
func command(s maker.Server, opts ...string) []string {
	return slices.Concat(s.Launcher(), []string{"--no-defaults"}, paths(s), opts)
}
