package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mostAgain is how many failed tests get a second try. Where more fail, it is not the machine.
const mostAgain = 4

// repeatable returns the outermost names of the tests of a package that failed, when another try can tell something: a
// data race, a panic and a test that never ended are faults whatever comes next, and outside of tests there is nothing
// to repeat.
func (rs *results) repeatable(p *pkg) []string {
	if p.build != "" || p.end != "fail" || strings.Contains(p.output.String(), "DATA RACE") ||
		strings.Contains(p.output.String(), "panic:") {
		return nil
	}
	again := map[string]bool{}
	for name, t := range p.tests {
		if t.end == "pass" || t.end == "skip" {
			continue
		}
		out := t.output.String()
		if t.end == "" || strings.Contains(out, "DATA RACE") || strings.Contains(out, "race detected") ||
			strings.Contains(out, "panic:") {
			return nil
		}
		outer, _, _ := strings.Cut(name, "/")
		again[outer] = true
	}
	return slices.Sorted(maps.Keys(again))
}

// again runs tests that failed beside others twice more, alone on the machine. Some judge by what a real server does in
// a second, and three packages with servers of their own leave a small machine no second worth the name. What fails
// alone has failed; what passes both times has passed, and is listed so that its maker hears of it. The argument failed
// has the packages with failures and how many each.
func again(ctx context.Context, rs *results, failed map[string]int, argv []string, w io.Writer) (mended int) {
	names, n := map[string][]string{}, 0
	for pkg := range failed {
		names[pkg] = rs.repeatable(rs.packages[pkg])
		n += len(names[pkg])
	}
	if n == 0 || n > mostAgain || ctx.Err() != nil {
		return 0
	}
	var passed []string
	for _, pkg := range sorted(names) {
		if len(names[pkg]) == 0 {
			continue
		}
		var quoted []string
		for _, name := range names[pkg] {
			quoted = append(quoted, regexp.QuoteMeta(name))
		}
		fmt.Fprintf(w, "     retrying alone: %s %s\n", pkg, strings.Join(names[pkg], ", "))
		cmd := command(ctx, append(argv[:len(argv):len(argv)], "-count=2", "-v", "-run=^("+
			strings.Join(quoted, "|")+")$", pkg)...)
		out, err := cmd.CombinedOutput()
		if err == nil && (strings.Contains(string(out), "--- SKIP") ||
			strings.Contains(string(out), "no tests to run")) {
			err = errors.New("some tests did not run")
		}
		if err != nil {
			fmt.Fprintf(w, "FAIL %s alone: %v\n     %s\n", pkg, err,
				strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n     "))
			continue
		}
		mended += failed[pkg]
		for _, name := range names[pkg] {
			passed = append(passed, pkg+" "+name)
		}
	}
	if len(passed) > 0 {
		fmt.Fprintf(w, "%d failed in parallel and passed twice alone; their output is above:\n  %s\n", len(passed),
			strings.Join(passed, "\n  "))
	}
	return mended
}
