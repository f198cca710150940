package workload

import (
	"fmt"
	"strings"
)

// segmentedOptions are those of the family, and how many sessions there are. The workloads that take them read sbtest1
// through the index on k, each session in a segment of its own of the values, as sysbench's two programs for key caches
// in segments do.
func segmentedOptions(more ...Option) []Option {
	return append(append(oltpOptions(), threadsOption("sessions, each of which keeps to its own part of the values")),
		more...)
}

// maxMarkers is how many arguments a prepared statement takes: the protocol has 16 bits for them.
const maxMarkers = 65_535

// segmentedPlan makes the plan of operations of one statement each, whose condition is part, n times, joined by the
// words between. Each part has markers arguments: a value of the session's segment, and for a second one the value plus
// delta.
func segmentedPlan(name string, v Values, s Statement, part, between string, n, markers, delta int) (*Plan, error) {
	p, _, err := oltpBase(name, v)
	if err != nil {
		return nil, err
	}
	threads := v.Int(threadsName)
	if threads < 1 {
		return nil, &OptionError{threadsName, v.Text(threadsName), "takes a number from 1"}
	}
	if t := len(p.Tables); t > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s reads sbtest1 alone, as sysbench's does: the other %d tables are "+
			"not used", name, t-1))
	}
	s.SQL = fmt.Sprintf(s.SQL, strings.Repeat(part+between, n-1)+part)
	p.Statements = []Statement{s}
	size := float64(v.Int("table-size"))
	p.Generator = func(seed uint64, session int) Generator {
		// As sysbench computes it, with the fraction cut off last: the segments touch, and the first begins at 0.
		length := size / float64(threads)
		from := length * float64(session%threads)
		first, last := int(from), int(from+length)
		dist, _ := distribute(v, last-first+1) // the options were checked above
		args := make([]Datum, n*markers)
		return &segmentGenerator{
			source: newSource(seed, uint64(session)), dist: dist, first: first, markers: markers, delta: delta,
			Listed: Listed{Calls: []Call{{Args: args}}},
		}
	}
	return p, nil
}

type segmentGenerator struct {
	source
	dist           distribution // over the session's segment, from 1
	first          int          // the segment's first value
	markers, delta int
	Listed
}

// Begin draws the values of the next statement.
func (g *segmentGenerator) Begin(op *Op) {
	args := g.Calls[0].Args
	for i := 0; i < len(args); i += g.markers {
		x := int64(g.first + g.dist.draw(g.source) - 1)
		args[i] = Int(x)
		if g.markers > 1 {
			args[i+1] = Int(x + int64(g.delta))
		}
	}
	op.Kind, op.Think = 0, 0
	g.Again()
}
