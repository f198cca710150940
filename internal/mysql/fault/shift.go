package fault

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// shift is a workload of several groups of sessions, each with transactions of its own: what one group does to another
// is what faults of locking are about. A mix is the simpler thing where all sessions do the same single statements.
type shift struct {
	name, title string
	rows        int // default of table-size
	tables      func(n fault.Names, rows int) []workload.Table
	groups      []group
}

// group is some of every so many sessions: session i is of the group that i, modulo the sum of all Sessions, falls
// into.
type group struct {
	sessions int
	think    time.Duration // before each transaction
	deals    []deal
}

// deal is one kind of operation: statements that one session sends one after the other.
type deal struct {
	name   string
	weight int // of all deals of the group together
	steps  []fault.Operation
}

// single makes a deal of one statement.
func single(o fault.Operation) deal {
	return deal{name: o.Name, weight: o.Weight, steps: []fault.Operation{o}}
}

// transaction makes a deal of statements between BEGIN and COMMIT. Their own weights do not matter.
func transaction(name string, weight int, steps ...fault.Operation) deal {
	d := deal{name: name, weight: weight, steps: []fault.Operation{{Name: "begin", SQL: "BEGIN"}}}
	d.steps = append(d.steps, steps...)
	d.steps = append(d.steps, fault.Operation{Name: "commit", SQL: "COMMIT"})
	return d
}

func (s shift) Name() string  { return s.name }
func (s shift) Title() string { return s.title }

func (s shift) Options() []workload.Option { return fault.Mix{Rows: s.rows}.Options() }

func (s shift) Build(given map[string]string) (*workload.Plan, error) {
	p, err := fault.Mix{ID: s.name, Rows: s.rows, Tables: s.tables}.Build(given)
	if err != nil {
		return nil, err
	}
	rows := 0
	for _, t := range p.Tables {
		rows = max(rows, t.Rows)
	}
	n := fault.Names(workload.Values(p.Options).Int(fault.NamesSeed))
	// Statements and operations of the same text and name are listed once, whichever groups use them.
	statements, operations := map[string]int{}, map[string]int{}
	type known struct {
		kind  int
		calls []int
	}
	all := make([][]known, len(s.groups))
	for i, g := range s.groups {
		for _, d := range g.deals {
			k := known{}
			var ok bool
			if k.kind, ok = operations[d.name]; !ok {
				k.kind = len(p.Operations)
				operations[d.name] = k.kind
				p.Operations = append(p.Operations, d.name)
			}
			for _, o := range d.steps {
				text := n.SQL(o.SQL)
				at, ok := statements[text]
				if !ok {
					x := workload.Statement{Name: o.Name, SQL: text, Kind: workload.Write, Text: true}
					switch {
					case strings.HasPrefix(text, "SELECT"):
						x.Kind, x.Rows = workload.Read, true
					case text == "BEGIN", text == "COMMIT", strings.HasPrefix(text, "DO "):
						x.Kind = workload.Other
					}
					at = len(p.Statements)
					statements[text] = at
					p.Statements = append(p.Statements, x)
				}
				k.calls = append(k.calls, at)
			}
			all[i] = append(all[i], k)
		}
	}
	sessions := 0
	for _, g := range s.groups {
		sessions += g.sessions
	}
	p.Generator = func(seed uint64, session int) workload.Generator {
		i, at := 0, session%sessions
		for at >= s.groups[i].sessions {
			at -= s.groups[i].sessions
			i++
		}
		g := &shiftGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(session))), group: s.groups[i], rows: rows}
		for j, d := range s.groups[i].deals {
			g.total += d.weight
			g.kinds = append(g.kinds, all[i][j].kind)
			var calls []workload.Call
			for _, st := range all[i][j].calls {
				calls = append(calls, workload.Call{Statement: st, Args: make([]workload.Datum,
					strings.Count(p.Statements[st].SQL, "?"))})
			}
			g.each = append(g.each, calls)
		}
		return g
	}
	return p, nil
}

// shiftGenerator deals out the transactions of one session.
type shiftGenerator struct {
	*rand.Rand
	group
	rows, total int
	kinds       []int
	each        [][]workload.Call
	workload.Listed
}

func (g *shiftGenerator) Begin(op *workload.Op) {
	i, x := 0, g.IntN(g.total)
	for x >= g.deals[i].weight {
		x -= g.deals[i].weight
		i++
	}
	for j, o := range g.deals[i].steps {
		if o.Args != nil {
			o.Args(g.Rand, g.rows, g.each[i][j].Args)
		}
	}
	op.Kind, op.Think = g.kinds[i], g.think
	g.Calls = g.each[i]
	g.Again()
}
