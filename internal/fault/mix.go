package fault

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Mix is a workload of single-statement operations, chosen at random by weight and sent as text, as most applications
// do.
type Mix struct {
	ID         string // its name
	About      string // its title
	Rows       int    // default of table-size
	Think      time.Duration
	Tables     func(n Names, rows int) []workload.Table
	Operations []Operation
}

// Operation is one kind of operation of a mix.
type Operation struct {
	Name   string
	Weight int    // of all operations of the mix together
	SQL    string // template for names
	// Args fills the arguments; rows is table-size.
	Args func(r *rand.Rand, rows int, args []workload.Datum)
}

// SchemaKey is the key of the schema's name.
const SchemaKey = "crm"

// Name implements workload.Workload.
func (m Mix) Name() string { return m.ID }

// Title implements workload.Workload.
func (m Mix) Title() string { return m.About }

// Options implements workload.Workload.
func (m Mix) Options() []workload.Option {
	return []workload.Option{
		namesOption(),
		{
			Name: "table-size", Type: workload.Number, Default: strconv.Itoa(m.Rows), Max: 100_000_000,
			Help: "rows of the largest table",
		},
	}
}

// Build implements workload.Workload.
func (m Mix) Build(given map[string]string) (*workload.Plan, error) {
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
	n := Names(v.Int(NamesSeed))
	p := &workload.Plan{Workload: m.ID, Schema: n.Of(SchemaKey), Options: v, Tables: m.Tables(n, rows)}
	total := 0
	for _, o := range m.Operations {
		p.Operations = append(p.Operations, o.Name)
		s := workload.Statement{Name: o.Name, SQL: n.SQL(o.SQL), Kind: workload.Write, Text: true}
		if strings.HasPrefix(o.SQL, "SELECT") {
			s.Kind, s.Rows = workload.Read, true
		}
		p.Statements = append(p.Statements, s)
		total += o.Weight
	}
	p.Generator = func(seed uint64, session int) workload.Generator {
		g := &mixGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(session))), Mix: m, rows: rows, total: total}
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
	Mix
	rows, total int
	each        []workload.Call // one of each kind
	workload.Listed
}

func (g *mixGenerator) Begin(op *workload.Op) {
	i, x := 0, g.IntN(g.total)
	for x >= g.Operations[i].Weight {
		x -= g.Operations[i].Weight
		i++
	}
	g.Operations[i].Args(g.Rand, g.rows, g.each[i].Args)
	op.Kind, op.Think = i, g.Think
	g.Calls = g.each[i : i+1]
	g.Again()
}
