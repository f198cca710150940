package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// root returns the directory that a build was unpacked into with its usr/ below, "" when it lies in the system's own.
func (s Server) root() string {
	dir := filepath.Dir(s.Path)
	for _, p := range []string{"/usr/sbin", "/usr/bin", "/usr/libexec"} {
		if r, ok := strings.CutSuffix(dir, p); ok {
			return r
		}
	}
	return ""
}

// base returns the build's basedir, "" when the one compiled into it holds.
func (s Server) base() string {
	if r := s.root(); r != "" {
		return filepath.Join(r, "usr")
	}
	dir := filepath.Dir(s.Path)
	if strings.HasPrefix(dir, "/usr/") && !strings.HasPrefix(dir, "/usr/local/") {
		return ""
	}
	return filepath.Dir(dir)
}

// launcher returns what to execute before any options. A tree that brings its own C library is run by its own loader,
// for neither the system's loader nor its libraries need fit. One that brings a few libraries alone finds them by the
// environment.
func (s Server) launcher() []string {
	root := s.root()
	if root == "" {
		if libs := filepath.Join(filepath.Dir(filepath.Dir(s.Path)), ownLibraries); isDir(libs) {
			return []string{"/usr/bin/env", "LD_LIBRARY_PATH=" + libs, s.Path}
		}
		return []string{s.Path}
	}
	var loader string
	var libs []string
	for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", "usr/lib64", "lib64"} {
		dirs, _ := filepath.Glob(filepath.Join(root, pattern)) // the pattern is a good one
		for _, dir := range dirs {
			found, _ := filepath.Glob(filepath.Join(dir, "ld-linux*.so*"))
			for _, f := range found {
				if fi, err := os.Stat(f); err == nil && fi.Mode().IsRegular() && loader == "" {
					loader = f
				}
			}
			libs = append(libs, dir)
		}
	}
	if loader == "" {
		return []string{s.Path}
	}
	return []string{loader, "--library-path", strings.Join(libs, ":"), s.Path} // no --argv0: glibc has it from 2.33 on
}

// Client returns the command that runs a client program for this build, without options: the build's own, else one on
// $PATH; nil when there is none.
func (s Server) Client() []string {
	clients := clients
	if s.Flavor.IsPostgres() {
		clients = []string{"psql"}
	}
	base := s.base()
	if base == "" {
		base = "/usr"
	}
	for _, dir := range []string{filepath.Join(base, "bin"), filepath.Dir(s.Path)} {
		for _, name := range clients {
			p := filepath.Join(dir, name)
			if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
				return Server{Path: p}.launcher()
			}
		}
	}
	for _, name := range clients {
		if p, err := exec.LookPath(name); err == nil {
			return []string{p}
		}
	}
	return nil
}

var clients = []string{"mariadb", "mysql"}

// paths returns the options that tell a build where its own files are.
func (s Server) paths() []string {
	base := s.base()
	if base == "" {
		return nil
	}
	opts := []string{"--basedir=" + base}
	if s.root() == "" {
		return opts // an archive finds the rest below its basedir
	}
	if share := s.share(); share != "" {
		opts = append(opts, "--lc-messages-dir="+share, "--character-sets-dir="+share+"/charsets")
	}
	for _, p := range []string{"lib/mysql/plugin", "lib/mariadb/plugin", "lib64/mysql/plugin"} {
		if d := filepath.Join(base, p); isDir(d) {
			opts = append(opts, "--plugin-dir="+d)
			break
		}
	}
	return opts
}

// share returns the directory of a build's messages, character sets and bootstrap scripts, "" when there is none.
func (s Server) share() string {
	base := s.base()
	if base == "" {
		base = "/usr"
	}
	for _, p := range []string{"share/mysql", "share/mariadb", "share", "share/mysql-8.0"} {
		if d := filepath.Join(base, p); isDir(d + "/charsets") {
			return d
		}
	}
	return ""
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// environment is all that a server sees of ours. The rest could change what it does (MYSQL_TCP_PORT, LD_PRELOAD) or
// hold secrets.
func environment(home string) []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=" + home}
	if tz, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+tz)
	}
	return env
}

// command joins the launcher of a build with options.
func (s Server) command(opts ...string) []string {
	return slices.Concat(s.launcher(), []string{"--no-defaults"}, s.paths(), opts)
}
