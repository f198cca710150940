package workload

import (
	"fmt"
	"math"
	"math/bits"
)

// Insert inserts one row, again and again.
type Insert struct{}

// Name returns oltp_insert.
func (Insert) Name() string { return "oltp_insert" }

// Title says what it does.
func (Insert) Title() string { return "inserts one row" }

// Options returns those of the OLTP family.
func (Insert) Options() []Option { return oltpOptions() }

// Build settles the options. As in sysbench an operation is one statement, always sent as text, and there are no
// transactions. With auto-inc the server numbers the rows, which follow those that prepare has made; without, the
// tables begin empty, for their ids are spread over all that the column holds.
func (w Insert) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	p, dist, err := oltpBase(w.Name(), v)
	if err != nil {
		return nil, err
	}
	chosen := !v.Bool("auto-inc")
	sql := "INSERT INTO sbtest%d (id, k, c, pad) VALUES (0, ?, ?, ?)"
	if chosen {
		sql = "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)"
		p.Notes = append(p.Notes, "auto-inc is off: an id may meet that of a row which an earlier run has left, and "+
			"error 1062 ends the run then; "+
			"prepare again before each run")
	}
	for i := range p.Tables {
		p.Statements = append(p.Statements, Statement{
			Name: "insert", SQL: fmt.Sprintf(sql, i+1),
			Kind: Write, Text: true,
		})
		if chosen {
			p.Tables[i].Rows, p.Tables[i].Key = 0, ""
		}
	}
	p.Generator = func(seed uint64, session int) Generator {
		g := &insertGenerator{
			source: newSource(seed, uint64(session)), dist: dist, tables: len(p.Tables),
			chosen: chosen, ids: newUnique(seed, session),
		}
		g.row = [4]Datum{{}, {}, Bytes(make([]byte, cLength)), Bytes(make([]byte, padLength))}
		args := g.row[:]
		if !chosen {
			args = g.row[1:]
		}
		g.Calls = []Call{{Args: args}}
		return g
	}
	return p, nil
}

type insertGenerator struct {
	source
	dist   distribution
	tables int
	chosen bool // the ids come from here, not from the server
	ids    unique
	row    [4]Datum
	Listed
}

// Begin draws the next row.
func (g *insertGenerator) Begin(op *Op) {
	g.Calls[0].Statement = g.IntN(g.tables)
	if g.chosen {
		g.row[0] = Int(g.ids.draw())
	}
	g.row[1] = Int(int64(g.dist.draw(g.source)))
	g.digits(g.row[2].Raw())
	g.digits(g.row[3].Raw())
	op.Kind, op.Think = 0, 0
	g.Again()
}

// unique deals out numbers of 32 bits in no order, none of them twice within a run: each session walks through a part
// of its own of all numbers, which a bijection then scatters.
type unique struct{ next, a, b uint32 }

// newUnique returns the source of one session. The sessions begin as far from each other as their number allows
// whatever it will be: where the bits of a session's number, in reverse, say. With 1000 sessions each has four million
// numbers before it meets another's.
func newUnique(seed uint64, session int) unique {
	s := newSource(seed, math.MaxUint64)
	return unique{next: bits.Reverse32(uint32(session)), a: s.Uint32(), b: s.Uint32()}
}

// draw returns the next number, as a signed INTEGER column holds it. Additions, shifts with exclusive or, and odd
// factors can all be undone, so that no two numbers become the same.
func (u *unique) draw() int64 {
	x := u.next + u.a
	u.next++
	x ^= x >> 16
	x *= 0x9e3779b1
	x ^= x >> 13
	x *= 0x85ebca77
	x ^= x >> 16
	return int64(int32(x ^ u.b))
}
