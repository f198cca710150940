package fault

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// mix is a workload of single-statement operations, chosen at random by weight and sent as text, as most applications
// do.
type mix struct {
	name, title string
	rows        int // default of table-size
	think       time.Duration
	tables      func(n names, rows int) []workload.Table
	operations  []operation
}

// operation is one kind of operation of a mix.
type operation struct {
	name   string
	weight int    // of all operations of the mix together
	sql    string // template for names
	// args fills the arguments; rows is table-size.
	args func(r *rand.Rand, rows int, args []workload.Datum)
}

const schemaKey = "crm"

func (m mix) Name() string  { return m.name }
func (m mix) Title() string { return m.title }

func (m mix) Options() []workload.Option {
	return []workload.Option{
		namesOption(),
		{
			Name: "table-size", Type: workload.Number, Default: fmtInt(m.rows), Max: 100_000_000,
			Help: "rows of the largest table",
		},
	}
}

func (m mix) Build(given map[string]string) (*workload.Plan, error) {
	v, err := workload.Settle(m.Options(), given)
	if err != nil {
		return nil, err
	}
	rows := v.Int("table-size")
	if rows < 1 {
		return nil, &workload.OptionError{
			Option: "table-size", Value: v.Text("table-size"),
			Reason: "takes a number from 1",
		}
	}
	n := names{uint64(v.Int(namesSeed))}
	p := &workload.Plan{Workload: m.name, Schema: n.of(schemaKey), Options: v, Tables: m.tables(n, rows)}
	total := 0
	for _, o := range m.operations {
		p.Operations = append(p.Operations, o.name)
		s := workload.Statement{Name: o.name, SQL: n.sql(o.sql), Kind: workload.Write, Text: true}
		if strings.HasPrefix(o.sql, "SELECT") {
			s.Kind, s.Rows = workload.Read, true
		}
		p.Statements = append(p.Statements, s)
		total += o.weight
	}
	p.Generator = func(seed uint64, session int) workload.Generator {
		g := &mixGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(session))), mix: m, rows: rows, total: total}
		for i, s := range p.Statements {
			g.each = append(g.each, workload.Call{Statement: i, Args: make([]workload.Datum,
				strings.Count(s.SQL, "?"))})
		}
		return g
	}
	return p, nil
}

type mixGenerator struct {
	*rand.Rand
	mix
	rows, total int
	each        []workload.Call // one of each kind
	workload.Listed
}

func (g *mixGenerator) Begin(op *workload.Op) {
	i, x := 0, g.IntN(g.total)
	for x >= g.operations[i].weight {
		x -= g.operations[i].weight
		i++
	}
	g.operations[i].args(g.Rand, g.rows, g.each[i].Args)
	op.Kind, op.Think = i, g.think
	g.Calls = g.each[i : i+1]
	g.Again()
}
