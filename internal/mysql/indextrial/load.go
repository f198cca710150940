package indextrial

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/workload"
)

// captured is the load of a finding: its classes with values of rows that are there.
type captured struct {
	schema  string
	classes []capturedClass
}

type capturedClass struct {
	class      class.Class
	read       bool
	statements []string
}

func (c *captured) add(k class.Class, sh shape.Shape, statements []string) {
	if len(statements) > 0 {
		c.classes = append(c.classes, capturedClass{k, sh.Kind == shape.Select, statements})
	}
}

func (c captured) Name() string               { return "captured" }
func (c captured) Title() string              { return "the captured classes of a finding" }
func (c captured) Options() []workload.Option { return nil }

// Build makes an operation of each class, as frequent as the class was.
func (c captured) Build(map[string]string) (*workload.Plan, error) {
	p := &workload.Plan{Workload: c.Name(), Schema: c.schema}
	var weights []float64
	total := 0.0
	for _, k := range c.classes {
		p.Operations = append(p.Operations, k.class.ID)
		s := workload.Statement{SQL: k.statements[0], Kind: workload.Write, Text: true, Name: k.class.ID}
		if k.read {
			s.Kind, s.Rows = workload.Read, true
		}
		p.Statements = append(p.Statements, s)
		total += float64(max(1, k.class.Count))
		weights = append(weights, total)
	}
	p.Generator = func(seed uint64, session int) workload.Generator {
		return &capturedGenerator{
			Rand: rand.New(rand.NewPCG(seed, uint64(session))), from: c, weights: weights,
			call: make([]workload.Call, 1),
		}
	}
	return p, nil
}

type capturedGenerator struct {
	*rand.Rand
	from    captured
	weights []float64
	call    []workload.Call
	workload.Listed
}

func (g *capturedGenerator) Begin(op *workload.Op) {
	x := g.Float64() * g.weights[len(g.weights)-1]
	i := 0
	for g.weights[i] < x {
		i++
	}
	all := g.from.classes[i].statements
	g.call[0] = workload.Call{Statement: i, Text: []byte(all[g.IntN(len(all))])}
	op.Kind = i
	g.Calls = g.call
	g.Again()
}
