package maker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
)

// Server is a server build that is on this machine.
type Server struct {
	Flavor  dbms.Flavor `json:"flavor"`
	Version string      `json:"version"` // "10.11.19"
	Path    string      `json:"path"`    // of the server program, symbolic links followed
	Origin  Origin      `json:"origin"`

	Maker Maker `json:"-"` // of its family
}

// Origin says where a build was found.
type Origin string

const (
	OnPath    Origin = "path"       // in a directory of $PATH
	OfSystem  Origin = "system"     // where packages put servers
	OfDir     Origin = "server-dir" // in one of Builds.ServerDirs, or named by its path
	Installed Origin = "installed"  // by Install
)

// Spec returns the shortest text that Resolve understands as this version: "mysql@9.7.4".
func (s Server) Spec() string { return string(s.Flavor) + "@" + s.Version }

// Numbers splits "9.7.4" into its numbers.
func Numbers(version string) []int {
	var ns []int
	for f := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(f)
		if err != nil {
			break
		}
		ns = append(ns, n)
	}
	return ns
}

// Older reports whether version a is below b.
func Older(a, b string) bool {
	x, y := Numbers(a), Numbers(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// OwnLibraries is the directory of a build with libraries that the system may lack.
const OwnLibraries = "libs"

// Root returns the directory that a build was unpacked into with its usr/ below, "" when it lies in the system's own.
func (s Server) Root() string {
	dir := filepath.Dir(s.Path)
	for _, p := range []string{"/usr/sbin", "/usr/bin", "/usr/libexec"} {
		if r, ok := strings.CutSuffix(dir, p); ok {
			return r
		}
	}
	return ""
}

// Base returns the build's basedir, "" when the one compiled into it holds.
func (s Server) Base() string {
	if r := s.Root(); r != "" {
		return filepath.Join(r, "usr")
	}
	dir := filepath.Dir(s.Path)
	if strings.HasPrefix(dir, "/usr/") && !strings.HasPrefix(dir, "/usr/local/") {
		return ""
	}
	return filepath.Dir(dir)
}

// Launcher returns what to execute before any options. A tree that brings its own C library is run by its own loader,
// for neither the system's loader nor its libraries need fit. One that brings a few libraries alone finds them by the
// environment.
func (s Server) Launcher() []string {
	root := s.Root()
	if root == "" {
		if libs := filepath.Join(filepath.Dir(filepath.Dir(s.Path)), OwnLibraries); IsDir(libs) {
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
	if s.Maker == nil { // of a sandbox whose record cannot be read
		return nil
	}
	clients := s.Maker.Traits().Clients
	base := s.Base()
	if base == "" {
		base = "/usr"
	}
	for _, dir := range []string{filepath.Join(base, "bin"), filepath.Dir(s.Path)} {
		for _, name := range clients {
			p := filepath.Join(dir, name)
			if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
				return Server{Path: p}.Launcher()
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

// IsDir reports whether a path is that of a directory.
func IsDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
