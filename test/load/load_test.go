// Package load_test runs `dyno load` as users do, the built program against real servers and beside the real sysbench,
// and holds what it reports against what the servers say.
package load_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sysbench"
)

// dynoPath is the built program; TestMain sets it before any test runs.
var dynoPath string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dynoPath)) }

// everywhere runs a test on a server of each flavor, at the same time.
func everywhere(t *testing.T, f func(t *testing.T, s *servers.Server), settings ...string) {
	t.Helper()
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			f(t, servers.Start(t, flavor, settings...))
		})
	}
}

// as returns the options that name a server, for user root unless another one is given.
func as(s *servers.Server, user ...string) []string {
	return sysbench.Server(s.Socket, append(user, "root")[0])
}

// ended is what is left of a command.
type ended struct {
	code     int
	out, err string
	took     time.Duration
}

// command returns the program with a home of its own. Users other than root have the password "secret".
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), dynoPath, args...)
	password := "secret"
	if slices.Contains(args, "--mysql-user=root") {
		password = ""
	}
	c.Env = append(os.Environ(), "DYNO_HOME="+t.TempDir(), "DYNO_PASSWORD="+password)
	return c
}

// finish runs a command to its end.
func finish(t *testing.T, c *exec.Cmd) ended {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begin := time.Now()
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(c.Args, " "), err)
	}
	return ended{c.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(begin)}
}

// dyno runs `dyno load` with arguments, which must end well. A run may end with code 6, too: on a machine with much
// else to do the client comes late, and says so. The counts hold all the same.
func dyno(t *testing.T, args ...[]string) ended {
	t.Helper()
	e := finish(t, command(t, join(args)...))
	if e.code != 0 && (e.code != 6 || !slices.Contains(join(args), "run")) {
		t.Fatalf("dyno %s: code %d\n%s%s", strings.Join(join(args), " "), e.code, tail(e.out), e.err)
	}
	return e
}

// refused runs `dyno load` with arguments, which must end with code 1 and one paragraph on stderr that has all of the
// words in it.
func refused(t *testing.T, words []string, args ...[]string) {
	t.Helper()
	e := finish(t, command(t, join(args)...))
	if e.code != 1 {
		t.Fatalf("dyno %s: code %d, want 1\n%s%s", strings.Join(join(args), " "), e.code, tail(e.out), e.err)
	}
	last := e.err[strings.LastIndex("\n"+e.err, "\ndyno: "):]
	for _, w := range words {
		if !strings.Contains(last, w) {
			t.Errorf("dyno %s: nothing about %q in %q", strings.Join(join(args), " "), w, e.err)
		}
	}
	if strings.Contains(e.err+e.out, "secret") {
		t.Errorf("a password is in %q", e.err+e.out)
	}
}

func join(args [][]string) []string {
	all := []string{"load"}
	for _, a := range args {
		all = append(all, a...)
	}
	return all
}

func words(s string) []string { return strings.Fields(s) }

func tail(s string) string { return s[max(0, len(s)-3000):] }

// report reads the closing block.
func report(t *testing.T, output string) sysbench.Report {
	t.Helper()
	r, err := sysbench.Parse(output)
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(output))
	}
	return r
}

// figures reads the output of a run with --output json.
func figures(t *testing.T, output string) (ticks []loadresult.Tick, sum loadresult.Run) {
	t.Helper()
	for line := range strings.Lines(output) {
		var head struct{ Message string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var err error
		switch head.Message {
		case "tick":
			var x loadresult.Tick
			err = json.Unmarshal([]byte(line), &x)
			ticks = append(ticks, x)
		case "summary":
			err = json.Unmarshal([]byte(line), &sum)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	if sum.Started.IsZero() {
		t.Fatalf("no summary in\n%s", tail(output))
	}
	return ticks, sum
}

// running is a command under way, with its lines as they come.
type running struct {
	*exec.Cmd
	lines chan string // of stdout, closed with it
	errs  bytes.Buffer
	out   strings.Builder // what lines has brought so far
}

// start starts a command. The test ends it, if nothing else does.
func start(t *testing.T, c *exec.Cmd) *running {
	t.Helper()
	r := &running{Cmd: c, lines: make(chan string, 100_000)}
	c.Stderr = &r.errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		b := bufio.NewReader(out)
		for {
			line, err := b.ReadString('\n')
			if line != "" {
				r.lines <- line
			}
			if err != nil {
				io.Copy(io.Discard, out)
				return
			}
		}
	}()
	t.Cleanup(func() { c.Process.Kill(); r.wait(t, time.Minute) })
	return r
}

// until reads lines up to one that contains text.
func (r *running) until(t *testing.T, text string, within time.Duration) {
	t.Helper()
	r.find(t, fmt.Sprintf("print %q", text), within, func(line string) bool { return strings.Contains(line, text) })
}

// find reads lines up to one that is meant; what says in words what the command is expected to do.
func (r *running) find(t *testing.T, what string, within time.Duration, meant func(line string) bool) {
	t.Helper()
	late := time.After(within)
	for {
		select {
		case line, ok := <-r.lines:
			r.out.WriteString(line)
			switch {
			case !ok:
				r.Wait()
				t.Fatalf("%s ended (%v) and did not %s\n%s%s", r, r.ProcessState, what, tail(r.out.String()), &r.errs)
			case meant(line):
				return
			}
		case <-late:
			t.Fatalf("%s did not %s within %v\n%s", r, what, within, tail(r.out.String()))
		}
	}
}

// second waits for the first line about a second of the run.
func (r *running) second(t *testing.T) {
	t.Helper()
	r.find(t, "tell of a second", time.Minute, func(line string) bool { return strings.Contains(line, "s ] thds: ") })
}

// wait waits for the end of the command.
func (r *running) wait(t *testing.T, within time.Duration) ended {
	t.Helper()
	begin := time.Now()
	late := time.After(within)
	for {
		select {
		case line, ok := <-r.lines:
			r.out.WriteString(line)
			if !ok {
				r.Wait()
				return ended{r.ProcessState.ExitCode(), r.out.String(), r.errs.String(), time.Since(begin)}
			}
		case <-late:
			r.Process.Kill()
			t.Fatalf("%s still runs after %v\n%s", r, within, tail(r.out.String()))
		}
	}
}
