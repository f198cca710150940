package demo

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
)

// first is how many findings a reader is sure to read: a planted cause counts as found among them.
const first = 2

// grades are what a diagnosis was worth.
type grades struct {
	found   bool              // every part that is no control was found
	foreign []finding.Finding // neither expected nor true beside a fault
}

// grade holds findings, worst first, against what was planted, and fills in the parts. A finding counts for one part
// alone. Of several parts all must be among the first two; findings that belong to a fault are not counted as false.
func grade(parts []Part, expected []fault.Expectation, findings []finding.Finding) grades {
	taken := make([]bool, len(findings))
	g := grades{}
	planted, found := 0, 0
	for i := range parts {
		p := &parts[i]
		if p.Fault.Kind == fault.Control {
			continue
		}
		planted++
		var near []string
		for j := range findings {
			if taken[j] || p.Rank > 0 {
				continue
			}
			why := expected[i].Wrong(findings[j])
			switch {
			case why == "":
				taken[j], p.Rank = true, j+1
				if j < first {
					p.Found = &findings[j]
					found++
				}
			case findings[j].Rule == expected[i].Rule:
				near = append(near, fmt.Sprintf("finding %d is of the rule, but %s", j+1, why))
			}
		}
		switch {
		case p.Found != nil:
		case p.Rank > 0:
			p.Missed = fmt.Sprintf("it is finding %d, after others", p.Rank)
		case len(near) > 0:
			p.Missed = strings.Join(near, "; ")
		case len(findings) == 0:
			p.Missed = "there is no finding at all"
		default:
			p.Missed = "no finding of the rule " + expected[i].Rule
		}
	}
	g.found = planted > 0 && found == planted
	for j, f := range findings {
		if taken[j] || belongs(parts, f.Rule) {
			continue
		}
		g.foreign = append(g.foreign, f)
	}
	return g
}

func belongs(parts []Part, rule string) bool {
	for _, p := range parts {
		if _, ok := p.Fault.Belongs[rule]; ok {
			return true
		}
	}
	return false
}
