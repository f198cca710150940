package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	Short    bool
	CI       bool // a skipped test is a failure
	Procs    int
	Packages []string
}

// tests runs the Go tests with the race detector, in random order.
func tests(ctx context.Context, o options, w io.Writer) count {
	fmt.Fprintln(w, "     tests (builds them the first time: a few minutes)")
	start := time.Now()
	argv := []string{"build/go", "test", "-race", "-shuffle=on", "-vet=off" /* the linters do it */, "-timeout=30m"}
	if o.Short {
		argv = append(argv, "-short")
	}
	cmd := command(ctx, slices.Concat(argv, []string{"-json", "-p=" + strconv.Itoa(o.Procs)}, o.Packages)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fail(w, err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return fail(w, err)
	}
	rs, total, skips, failed := newResults(), count{}, []string{}, map[string]int{}
	each := func(p *pkg) {
		c, faults, skipped := rs.ended(p)
		total.add(c)
		if c.failed > 0 {
			failed[p.name] = c.failed
		}
		for _, s := range skipped {
			skips = append(skips, p.name+" "+s.name+": "+reason(s.output))
		}
		show(w, p, c, faults)
	}
	line := newStatus(os.Stdout)
	events, broken := make(chan event), make(chan error, 1)
	var stray strings.Builder
	go func() { broken <- read(out, events, &stray) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for open := true; open; {
		select {
		case e, ok := <-events:
			if open = ok; !ok {
				break
			}
			if p := rs.take(e); p != nil {
				line.clear()
				each(p)
			}
		case <-tick.C:
			line.set(elapsed(start) + ": " + rs.running())
		}
	}
	line.clear()
	lost := <-broken
	err = cmd.Wait()
	for _, name := range sorted(rs.packages) {
		if p := rs.packages[name]; p.end == "" {
			each(p)
		}
	}
	if lost != nil || (err != nil && total.failed == 0) || len(rs.packages) == 0 {
		fmt.Fprintf(w, "FAIL go test: %v\n%s%s", cmp.Or(lost, err), stray.String(), stderr.String())
		total.failed++
	} else {
		mended := again(ctx, rs, failed, argv, w)
		total.add(count{passed: mended, failed: -mended})
	}
	if len(skips) > 0 && !o.Short {
		fmt.Fprintf(w, "%d skipped:\n  %s\n", len(skips), strings.Join(skips, "\n  "))
		if o.CI {
			fmt.Fprintln(w, "in CI, a skipped test counts as failed")
			total.failed += len(skips)
		}
	}
	fmt.Fprintf(w, "tests took %s; packages, with their tests and subtests:\n%s\nslowest tests:\n%s\n", elapsed(start),
		strings.Join(rs.table(), "\n"), strings.Join(rs.slowest(20), "\n"))
	return total
}

func fail(w io.Writer, err error) count {
	fmt.Fprintf(w, "FAIL go test: %v\n", err)
	return count{failed: 1}
}

// show prints a package that ended: one line, and everything about what failed.
func show(w io.Writer, p *pkg, c count, faults []fault) {
	if len(p.tests) == 0 && p.end != "fail" && p.end != "" {
		return // no test files
	}
	word := "ok  "
	if c.failed > 0 {
		word = "FAIL"
	}
	fmt.Fprintf(w, "%s %-34s %4d passed %8.1f s\n", word, short(p.name), c.passed, p.seconds)
	for _, f := range faults {
		if f.name != "" {
			fmt.Fprintf(w, "---- %s: %s\n", short(p.name), f.name)
		}
		fmt.Fprintf(w, "     %s\n", strings.ReplaceAll(strings.TrimRight(f.output, "\n"), "\n", "\n     "))
	}
}

// reason is what a skipped test gave as its reason.
func reason(output string) string {
	for l := range strings.Lines(output) {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "===") && !strings.HasPrefix(l, "---") {
			return l
		}
	}
	return "no reason given"
}

// running tells what is being tested now.
func (rs *results) running() string {
	var now []string
	done := 0
	for _, name := range sorted(rs.packages) {
		if p := rs.packages[name]; p.end != "" {
			done++
		} else if p.last != "" {
			now = append(now, short(name)+" "+p.last)
		}
	}
	return fmt.Sprintf("%d packages done; %s", done, strings.Join(now, ", "))
}

// short is the name of a package without the module's.
func short(name string) string { return strings.TrimPrefix(name, "github.com/dyno-perf/dyno/") }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
