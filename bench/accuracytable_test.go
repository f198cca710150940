//go:build bench

package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/demo"
	"github.com/dyno-perf/dyno/internal/fault"
)

// sum is what lines about several seeds come to.
type sum struct {
	lines                 []demo.AccuracyLine
	found, first, foreign int
	gains, proven         int
	tool                  map[string]toolSum
}

type toolSum struct{ found, false, failed int }

func sumUp(lines []demo.AccuracyLine) sum {
	s := sum{lines: lines, tool: map[string]toolSum{}}
	for _, l := range lines {
		if l.Found {
			s.found++
			if l.Rank == 1 {
				s.first++
			}
		}
		s.foreign += len(l.Foreign)
		if l.Gain != nil {
			s.gains++
			if l.Gain.Lo > 1 {
				s.proven++
			}
		}
		for _, name := range tools {
			t, ok := l.Tools[name]
			x := s.tool[name]
			switch {
			case !ok || t.Error != "":
				x.failed++
			case t.Found:
				x.found++
			}
			x.false += len(t.Others)
			s.tool[name] = x
		}
	}
	return s
}

func isPair(l demo.AccuracyLine) bool    { return strings.Contains(l.Fault, "+") }
func isControl(l demo.AccuracyLine) bool { return l.Kind == fault.Control }

// tables makes the tables of docs/accuracy.md.
func tables(all []demo.AccuracyLine) string {
	if len(all) == 0 {
		return "There are no lines yet."
	}
	var servers, names []string
	for _, l := range all {
		if !slices.Contains(servers, l.Server) {
			servers = append(servers, l.Server)
		}
		if !slices.Contains(names, l.Fault) {
			names = append(names, l.Fault)
		}
	}
	pick := func(f func(demo.AccuracyLine) bool) []demo.AccuracyLine {
		var out []demo.AccuracyLine
		for _, l := range all {
			if f(l) {
				out = append(out, l)
			}
		}
		return out
	}
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("### In all\n")
	p(
		"| server | planted | times | found | as the first finding | false findings | gains tried | lower bound " +
			"above 1 |")
	p("|---|---|--:|--:|--:|--:|--:|--:|")
	for _, server := range servers {
		for _, kind := range []struct {
			name string
			f    func(demo.AccuracyLine) bool
		}{
			{"one fault", func(l demo.AccuracyLine) bool { return !isPair(l) && !isControl(l) }},
			{"two faults together", isPair},
			{"nothing", isControl},
		} {
			s := sumUp(pick(func(l demo.AccuracyLine) bool { return l.Server == server && kind.f(l) }))
			if len(s.lines) == 0 {
				continue
			}
			found, first := fmt.Sprint(s.found), fmt.Sprint(s.first)
			switch kind.name {
			case "nothing":
				found, first = fmt.Sprintf("%d silent", s.found), "–"
			case "two faults together":
				first = "–"
			}
			p("| %s | %s | %d | %s | %s | %d | %d | %d |", server, kind.name, len(s.lines), found, first,
				s.foreign, s.gains, s.proven)
		}
	}
	p("\n### Beside other tools\n")
	p("| tool | of | named the planted cause | missed | other things it asks to change | on healthy servers alone | " +
		"did not run |")
	p("|---|--:|--:|--:|--:|--:|--:|")
	single := sumUp(pick(func(l demo.AccuracyLine) bool { return !isPair(l) && !isControl(l) }))
	healthy := sumUp(pick(isControl))
	p("| dyno | %d | %d | %d | %d | %d | %d |", len(single.lines), single.found, len(single.lines)-single.found,
		single.foreign+healthy.foreign, healthy.foreign, failures(all))
	for _, name := range tools {
		x, y := single.tool[name], healthy.tool[name]
		p("| %s | %d | %d | %d | %d | %d | %d |", name, len(single.lines), x.found, len(single.lines)-x.found-x.failed,
			x.false+y.false, y.false, x.failed+y.failed)
	}
	p("\n### Fault by fault\n")
	p("Ranks are those of each seed in turn. The gain is that of the live cure: the median over the seeds, and the " +
		"lowest of the lower bounds.\n")
	head, rule := "| fault | server | found | rank | false | gain |", "|---|---|--:|--:|--:|---|"
	for _, name := range tools {
		head, rule = head+" "+name+" |", rule+"--:|"
	}
	p("%s\n%s", head, rule)
	for _, n := range names {
		for _, server := range servers {
			s := sumUp(pick(func(l demo.AccuracyLine) bool { return l.Server == server && l.Fault == n }))
			if len(s.lines) == 0 {
				continue
			}
			row := fmt.Sprintf("| `%s` | %s | %d/%d | %s | %d | %s |", n, server, s.found, len(s.lines), ranks(s.lines),
				s.foreign, gains(s.lines))
			for _, name := range tools {
				x := s.tool[name]
				cell := fmt.Sprintf("%d/%d", x.found, len(s.lines))
				if isControl(s.lines[0]) {
					cell = fmt.Sprintf("%d false", x.false)
				}
				if x.failed == len(s.lines) {
					cell = "–"
				}
				row += " " + cell + " |"
			}
			p("%s", row)
		}
	}
	if odd := pick(func(l demo.AccuracyLine) bool { return !l.OK() || len(l.NotLimit) > 0 }); len(odd) > 0 {
		p("\n### What was not as it should be\n")
		for _, l := range odd {
			p("- `%s` on %s, seed %d: %s", l.Fault, l.Server, l.Seed, wrong(l))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func failures(lines []demo.AccuracyLine) (n int) {
	for _, l := range lines {
		if l.Error != "" {
			n++
		}
	}
	return n
}

func ranks(lines []demo.AccuracyLine) string {
	var list []string
	for _, l := range lines {
		r := "–"
		if l.Rank > 0 {
			r = fmt.Sprint(l.Rank)
		}
		list = append(list, r)
	}
	return strings.Join(list, " ")
}

func gains(lines []demo.AccuracyLine) string {
	var centers []float64
	lo, figure := math.Inf(1), ""
	for _, l := range lines {
		if l.Gain != nil && l.Gain.N > 0 {
			centers = append(centers, l.Gain.Center)
			lo, figure = min(lo, l.Gain.Lo), l.Gain.Figure
		}
	}
	if len(centers) == 0 {
		return "–"
	}
	slices.Sort(centers)
	m := (centers[(len(centers)-1)/2] + centers[len(centers)/2]) / 2
	return fmt.Sprintf("×%.3g (≥ %.3g) %s", m, lo, figure)
}

func wrong(l demo.AccuracyLine) string {
	var list []string
	if l.Error != "" {
		list = append(list, "it ended early: "+brief(l.Error))
	}
	if l.Missed != "" {
		list = append(list, "missed: "+brief(l.Missed))
	}
	for _, f := range l.Foreign {
		list = append(list, "false: "+f.Rule+" ("+string(f.Severity)+"): "+brief(f.Title))
	}
	if g := l.Gain; g != nil && g.Lo <= 1 {
		list = append(list, fmt.Sprintf("no gain proven: %s, ×%.3g (%.3g to %.3g)", g.Figure, g.Center, g.Lo, g.Hi))
	}
	for _, s := range l.NotLimit {
		list = append(list, "a limit was not in effect: "+brief(s))
	}
	return strings.ReplaceAll(strings.Join(list, "; "), "|", "\\|")
}
