package load

import (
	"slices"

	"dyno/internal/workload"
)

// naming tells the kinds of statement whose times are kept apart.
type naming struct {
	names []string // of the kinds
	of    []int    // by statement of the plan, the index into names
}

// kindNames name the statements that have no name of their own.
var kindNames = map[workload.Kind]string{workload.Read: "read", workload.Write: "write", workload.Other: "other"}

func namesOf(p *workload.Plan) (n naming) {
	for i := range p.Statements {
		name := p.Statements[i].Name
		if name == "" {
			name = kindNames[p.Statements[i].Kind]
		}
		k := slices.Index(n.names, name)
		if k < 0 {
			k = len(n.names)
			n.names = append(n.names, name)
		}
		n.of = append(n.of, k)
	}
	return n
}
