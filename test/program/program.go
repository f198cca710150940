// Package program gives the tests of a package the program, to run it as a user does: the one that DYNO_TEST_PROGRAM
// names, else one that is built for them.
package program

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main runs the tests of m with the program at *path, and returns the exit code for TestMain. With -short nothing is
// built: tests that need the program are left out then.
func Main(m *testing.M, path *string) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	if *path = os.Getenv("DYNO_TEST_PROGRAM"); *path != "" { // built already
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "dyno-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	*path = filepath.Join(dir, "dyno")
	if out, err := exec.Command("go", "build", "-o", *path, "github.com/dyno-perf/dyno/cmd/dyno").
		CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
