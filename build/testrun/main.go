// Command testrun runs and counts the checks that a change must pass: format, linters, module list, then every test. It
// prints a line for each package when it finishes, the full output of failures, and as its last line "N passed, N
// failed". It runs a test that failed in parallel twice more, alone, unless the test raced, panicked or never finished,
// or more than a few failed: then there is no retry.
//
// Usage: build/go run ./build/testrun [-short] [-only STEP] [PACKAGE...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	short := flag.Bool("short", false, "skip the tests that need a real server")
	only := flag.String("only", "", "run only this step: "+strings.Join(names(steps), ", ")+" or tests")
	procs := flag.Int("p", 3, "packages tested in parallel; each starts its own servers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	o := options{Short: *short, Procs: *procs, Packages: flag.Args(), CI: os.Getenv("CI") != ""}
	if len(o.Packages) == 0 {
		// Those that take longest start first, so that none of them is left to run alone at the end.
		o.Packages = []string{
			"./test/demo", "./internal/sandbox", "./internal/mysql/loader", "./test/page",
			"./internal/service", "./internal/mysql/fault", "./internal/app", "./internal/lab", "./...",
		}
	}
	total, ran := count{}, false
	for _, s := range steps {
		if (*only == "" || *only == s.name) && !(o.Short && s.full) {
			total.add(s.do(ctx, os.Stdout))
			ran = true
		}
	}
	if *only == "" || *only == "tests" {
		total.add(tests(ctx, o, os.Stdout))
		ran = true
	}
	if !ran {
		fmt.Fprintf(os.Stderr, "unknown step %s\n", *only)
		os.Exit(2)
	}
	if ctx.Err() != nil {
		fmt.Println("stopped: some steps did not run")
		total.failed++
	}
	fmt.Println(total)
	if total.failed > 0 {
		os.Exit(1)
	}
}

// count is what ran.
type count struct{ passed, failed int }

func (c *count) add(d count) { c.passed, c.failed = c.passed+d.passed, c.failed+d.failed }

// String is the closing line that CI reads.
func (c count) String() string { return fmt.Sprintf("%d passed, %d failed", c.passed, c.failed) }

func elapsed(since time.Time) string { return fmt.Sprintf("%.1f s", time.Since(since).Seconds()) }
