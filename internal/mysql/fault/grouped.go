package fault

import (
	"math/rand/v2"
	"strings"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// grouped is a mix whose operations come several to a transaction. Each transaction is one operation of the load.
type grouped struct {
	fault.Mix
	per int // operations of the mix in one transaction
}

// Build settles the options of the mix, whose table it uses.
func (g grouped) Build(given map[string]string) (*workload.Plan, error) {
	p, err := g.Mix.Build(given)
	if err != nil {
		return nil, err
	}
	begin := len(p.Statements)
	p.Statements = append(p.Statements,
		workload.Statement{Name: "begin", SQL: "BEGIN", Kind: workload.Other, Text: true},
		workload.Statement{Name: "commit", SQL: "COMMIT", Kind: workload.Other, Text: true})
	rows := workload.Values(p.Options).Int("table-size")
	total := 0
	for _, o := range g.Operations {
		total += o.Weight
	}
	p.Operations = []string{"transaction"}
	p.Generator = func(seed uint64, session int) workload.Generator {
		x := &groupedGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(session))), grouped: g, rows: rows, total: total}
		x.Calls = append(x.Calls, workload.Call{Statement: begin})
		for range g.per {
			var each [][]workload.Datum
			for _, s := range p.Statements[:begin] {
				each = append(each, make([]workload.Datum, strings.Count(s.SQL, "?")))
			}
			x.each = append(x.each, each)
			x.Calls = append(x.Calls, workload.Call{})
		}
		x.Calls = append(x.Calls, workload.Call{Statement: begin + 1})
		return x
	}
	return p, nil
}

type groupedGenerator struct {
	*rand.Rand
	grouped
	rows, total int
	each        [][][]workload.Datum // arguments by place in the transaction and operation
	workload.Listed
}

func (g *groupedGenerator) Begin(op *workload.Op) {
	for n := range g.per {
		i, x := 0, g.IntN(g.total)
		for x >= g.Operations[i].Weight {
			x -= g.Operations[i].Weight
			i++
		}
		g.Operations[i].Args(g.Rand, g.rows, g.each[n][i])
		g.Calls[1+n] = workload.Call{Statement: i, Args: g.each[n][i]}
	}
	op.Kind, op.Think = 0, g.Think
	g.Again()
}
