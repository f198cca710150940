// Package digest_test runs `dyno digest` as users do: the built program on logs that real servers write, beside the
// real pt-query-digest and mysqldumpslow, with every figure held against theirs or against the log itself.
package digest_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/peer"
	"github.com/dyno-perf/dyno/test/program"
)

// dynoPath is the built program; TestMain sets it before any test runs.
var dynoPath string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dynoPath)) }

// needProgram leaves a test out where nothing is built.
func needProgram(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the program and real servers")
	}
}

// ended is what is left of a command.
type ended struct {
	code     int
	out, err string
}

// command returns the program with a home of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	needProgram(t)
	c := exec.CommandContext(t.Context(), dynoPath, args...)
	c.Env = append(os.Environ(), "DYNO_HOME="+t.TempDir())
	return c
}

// finish runs a command to its end.
func finish(t *testing.T, c *exec.Cmd) ended {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(c.Args, " "), err)
	}
	e := ended{c.ProcessState.ExitCode(), out.String(), errs.String()}
	if strings.Contains(e.err+e.out, "goroutine 1 [") || e.code < 0 {
		t.Fatalf("%s: crashed, code %d\n%s%s", strings.Join(c.Args, " "), e.code, tail(e.out), tail(e.err))
	}
	return e
}

// dyno runs `dyno digest` with arguments, which must end with code.
func dyno(t *testing.T, code int, args ...string) ended {
	t.Helper()
	e := finish(t, command(t, append([]string{"digest"}, args...)...))
	if e.code != code {
		t.Fatalf("dyno digest %s: code %d, want %d\n%s%s", strings.Join(args, " "), e.code, code,
			tail(e.out), tail(e.err))
	}
	return e
}

// digest runs `dyno digest` for its JSON with all classes; it must end with code.
func digest(t *testing.T, code int, args ...string) report {
	t.Helper()
	return decode(t, dyno(t, code, append([]string{"--output", "json", "--limit", "0"}, args...)...).out)
}

func decode(t *testing.T, out string) report {
	t.Helper()
	r, err := peer.Decode(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(out))
	}
	return r
}

// write puts text into a file of the test's own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func tail(s string) string { return s[max(0, len(s)-3000):] }
