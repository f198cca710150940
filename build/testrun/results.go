package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of `go test -json`, see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64 // seconds
}

// results collects events.
type results struct {
	packages map[string]*pkg
	builds   map[string]*strings.Builder // output of failed builds by import path
}

type pkg struct {
	name    string
	tests   map[string]*test
	output  strings.Builder // what no test printed
	end     string          // pass, fail or skip; "" while it runs
	build   string          // import path that did not build
	seconds float64
	last    string // the test that spoke last
}

type test struct {
	end     string
	seconds float64
	output  strings.Builder
}

func newResults() *results {
	return &results{packages: map[string]*pkg{}, builds: map[string]*strings.Builder{}}
}

// read sends the events of r until it ends, and what is no event to stray: messages of the go command itself.
func read(r io.Reader, events chan<- event, stray io.Writer) error {
	defer close(events)
	for b := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read test events: %w", err)
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			if _, err := stray.Write(line); err != nil {
				return err
			}
			continue
		}
		events <- e
	}
}

// take records an event and returns the package that it ends, if any.
func (rs *results) take(e event) *pkg {
	if e.Action == "build-output" || e.Action == "build-fail" {
		b := rs.builds[e.ImportPath]
		if b == nil {
			b = &strings.Builder{}
			rs.builds[e.ImportPath] = b
		}
		b.WriteString(e.Output)
		return nil
	}
	p := rs.packages[e.Package]
	if p == nil {
		p = &pkg{name: e.Package, tests: map[string]*test{}}
		rs.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output.WriteString(e.Output)
		case "pass", "fail", "skip":
			p.end, p.seconds, p.build = e.Action, e.Elapsed, e.FailedBuild
			return p
		}
		return nil
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
	}
	p.last = e.Test
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.end, t.seconds = e.Action, e.Elapsed
		if e.Action == "pass" {
			t.output.Reset()
		}
	}
	return nil
}

// fault is a test or package that failed, with its output.
type fault struct{ name, output string }

// ended tells what came of a package: its tests without those that only hold others, the failures and the skipped. A
// package that failed outside its tests (it did not build, it panicked, it ran out of time) is a failure of its own.
func (rs *results) ended(p *pkg) (c count, faults, skipped []fault) {
	for _, name := range sorted(p.tests) {
		t := p.tests[name]
		holds, inner := false, false // has subtests; one of them failed
		for other, o := range p.tests {
			if strings.HasPrefix(other, name+"/") {
				holds = true
				inner = inner || (o.end != "pass" && o.end != "skip")
			}
		}
		switch {
		case t.end == "pass" && !holds:
			c.passed++
		case t.end == "skip":
			skipped = append(skipped, fault{name, t.output.String()})
		case t.end != "pass" && !inner:
			c.failed++
			if t.end == "" {
				t.output.WriteString("(did not finish)\n")
			}
			faults = append(faults, fault{name, t.output.String()})
		case t.end == "fail": // what the parent says itself belongs to the failure within
			faults = append(faults, fault{name, t.output.String()})
		}
	}
	switch {
	case p.build != "":
		c.failed++
		out := ""
		if b := rs.builds[p.build]; b != nil {
			out = b.String()
		}
		faults = append(faults, fault{"build failed", out})
	case p.end == "fail" && c.failed == 0:
		c.failed++
		faults = append(faults, fault{"failed outside its tests", p.output.String()})
	case p.end == "fail":
		faults = append(faults, fault{"", p.output.String()})
	case p.end == "":
		c.failed++
		faults = append(faults, fault{"did not finish", p.output.String()})
	}
	return c, faults, skipped
}

// table returns the packages that took longest first, as lines: seconds, tests, name. Those below a second are one
// line.
func (rs *results) table() []string {
	all := slices.SortedFunc(maps.Values(rs.packages), func(a, b *pkg) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.name, b.name))
	})
	var lines []string
	n, rest := 0, 0.0
	for _, p := range all {
		switch {
		case p.seconds >= 1:
			lines = append(lines, fmt.Sprintf("%8.1f s %5d  %s", p.seconds, len(p.tests), short(p.name)))
		case len(p.tests) > 0:
			n, rest = n+1, rest+p.seconds
		}
	}
	if n > 0 {
		lines = append(lines, fmt.Sprintf("%8.1f s        %d others", rest, n))
	}
	return lines
}

// slowest returns up to n tests that took longest, as lines. Subtests are within their parents and left out.
func (rs *results) slowest(n int) []string {
	type row struct {
		seconds float64
		name    string
	}
	var rows []row
	for _, p := range rs.packages {
		for name, t := range p.tests {
			if !strings.Contains(name, "/") {
				rows = append(rows, row{t.seconds, short(p.name) + " " + name})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds),
			cmp.Compare(a.name, b.name))
	})
	var lines []string
	for _, r := range rows[:min(n, len(rows))] {
		lines = append(lines, fmt.Sprintf("%8.1f s  %s", r.seconds, r.name))
	}
	return lines
}
