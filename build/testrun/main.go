// Command testrun runs what a change must pass and counts it: format, linters, module list, then every test. It prints a line for each
// package as it ends, the full output of what failed, and as its last line "N passed, N failed". A test that failed beside others is run
// twice more, alone, unless it raced, panicked or never ended, or more than a few failed: then nothing is forgiven.
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
	short := flag.Bool("short", false, "leave out the tests that need a real server")
	only := flag.String("only", "", "run this step alone: "+strings.Join(names(steps), ", ")+" or tests")
	procs := flag.Int("p", 3, "packages tested at the same time; each starts servers of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	o := options{Short: *short, Procs: *procs, Packages: flag.Args(), CI: os.Getenv("CI") != ""}
	if len(o.Packages) == 0 {
		// Those that take longest start first, so that none of them is left to run alone at the end.
		o.Packages = []string{"./test/demo", "./internal/sandbox", "./internal/load", "./test/page", "./internal/app", "./internal/fault", "./..."}
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
		fmt.Fprintf(os.Stderr, "no step %s\n", *only)
		os.Exit(2)
	}
	if ctx.Err() != nil {
		fmt.Println("stopped: not everything ran")
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
