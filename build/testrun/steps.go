package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// step is a check that is not a Go test. It passes when its command ends well and prints nothing that it should not.
type step struct {
	name  string
	note  string // what to expect, when that needs words
	full  bool   // not in the quick part
	argv  []string
	quiet bool   // any output is a failure
	lines int    // how much of its output is worth showing, 0 for all
	hint  string // what to do when it fails
	keep  func(output string) error
}

// linter runs with the flags of build/compile, and so reads what that has compiled instead of compiling it all once
// more.
var linter = []string{
	"env", "CGO_ENABLED=0", "GOFLAGS=-trimpath", "build/go", "tool",
	"-modfile=tools/go.mod", "golangci-lint",
}

var steps = []step{
	{
		name: "format", note: "builds the linters the first time: two minutes",
		argv: append(linter[:len(linter):len(linter)], "fmt", "--diff"), quiet: true, lines: 30, hint: "make fmt",
	},
	{name: "lint", argv: append(linter[:len(linter):len(linter)], "run")},
	{
		name: "systems", note: "compiles for arm64, macOS and Windows: minutes the first time",
		argv: []string{"build/systems"}, full: true, lines: 40,
	},
	{
		name: "modules", argv: []string{"build/go", "mod", "tidy", "-e", "-diff"}, full: true,
		hint: "build/go mod tidy -e",
	},
	{
		name: "page", note: "types, tests, and that internal/web/dist is the build of ui/; downloads npm packages " +
			"the first time",
		argv: []string{"build/ui", "test"}, full: true, lines: 40, hint: "build/ui",
	},
	{
		name: "mysql", note: "downloads MySQL the first time", argv: []string{"build/mysql"}, full: true,
		keep: func(tree string) error { return os.Setenv("DYNO_TEST_MYSQL", tree) },
	},
	{
		name: "program", argv: []string{"build/compile", "bin/dyno"}, full: true,
		keep: func(string) error { // built once, not by each package that runs it
			path, err := filepath.Abs("bin/dyno")
			if err != nil {
				return err
			}
			return os.Setenv("DYNO_TEST_PROGRAM", path)
		},
	},
	{ // the program fetches it
		name: "mysql80", note: "downloads MySQL 8.0 the first time, 554 MB", argv: []string{"build/mysql80"},
		full: true,
		keep: func(tree string) error { return os.Setenv("DYNO_TEST_MYSQL80", tree) },
	},
	{
		name: "postgres", note: "downloads PostgreSQL 15 to 18 the first time, 94 MB", argv: []string{"build/postgres"},
		full: true,
		keep: func(folder string) error { return os.Setenv("DYNO_TEST_POSTGRES", folder) },
	},
	{
		name: "peers", note: "downloads Prometheus, two exporters and VictoriaMetrics the first time",
		argv: []string{"build/peers"}, full: true,
		keep: func(tree string) error { return os.Setenv("DYNO_TEST_PEERS", tree) },
	},
	{
		name: "sshd", note: "downloads the OpenSSH server the first time", argv: []string{"build/sshd"}, full: true,
		keep: func(tree string) error { return os.Setenv("DYNO_TEST_SSHD", tree) },
	},
}

func names(steps []step) []string {
	var s []string
	for _, x := range steps {
		s = append(s, x.name)
	}
	return s
}

func (s step) do(ctx context.Context, w io.Writer) count {
	if s.note != "" {
		fmt.Fprintf(w, "     %s (%s)\n", s.name, s.note)
	}
	start := time.Now()
	var out, log bytes.Buffer
	cmd := command(ctx, s.argv...)
	cmd.Stdout, cmd.Stderr = &out, &log
	line := newStatus(os.Stdout)
	err := line.during(func() string { return s.name + " " + elapsed(start) }, cmd.Run)
	if err == nil && s.quiet && out.Len() > 0 {
		err = fmt.Errorf("unexpected output")
	}
	if err == nil && s.keep != nil {
		err = s.keep(strings.TrimSpace(out.String()))
	}
	if err != nil {
		fmt.Fprintf(w, "FAIL %-34s %10s %v\n%s%s", s.name, elapsed(start), err, first(s.lines, out.String()),
			withoutDownloads(log.String()))
		if s.hint != "" {
			fmt.Fprintf(w, "     try: %s\n", s.hint)
		}
		return count{failed: 1}
	}
	fmt.Fprintf(w, "ok   %-34s %10s\n", s.name, elapsed(start))
	return count{passed: 1}
}

// first returns the first n lines of a text, and how many there are more.
func first(n int, text string) string {
	all := strings.SplitAfter(text, "\n")
	if n == 0 || len(all) <= n+1 {
		return text
	}
	return fmt.Sprintf("%s… %d more lines\n", strings.Join(all[:n], ""), len(all)-1-n)
}

// withoutDownloads leaves out what the go command tells of modules that it fetched in peace.
func withoutDownloads(log string) string {
	var b strings.Builder
	for l := range strings.Lines(log) {
		if !strings.HasPrefix(l, "go: downloading ") {
			b.WriteString(l)
		}
	}
	return b.String()
}

// command ends with ctx by the signal that Ctrl-C sends, so that what it started can clean up.
func command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}
