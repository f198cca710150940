package script

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// program is what all sessions share.
type program struct {
	dialect workload.Dialect
	frames  []frame
	ops     []operation
	weight  int // of all operations
}

// frame is what the transactions of one script share.
type frame struct {
	script    *Script
	constants []constant
}

type constant struct {
	variable int
	value    workload.Datum
}

// operation is one transaction, drawn when a number from 0 to program.weight is below upTo and not below the one
// before.
type operation struct {
	*transaction
	frame     int
	upTo      int
	statement int // of its first statement in the plan
}

func (p *program) add(frame int, t *transaction, weight, statement int) {
	p.weight += t.weight * weight
	p.ops = append(p.ops, operation{t, frame, p.weight, statement})
}

// instruction is one step of a transaction.
type instruction struct {
	do       step
	value    expression
	variable int   // set
	call     int   // statement: index into transaction.calls
	into     []int // assign: variables
	to       int   // jumps: index into the code
	loop     int   // repeat, again: which counter
	at       place
}

type step uint8

const (
	set    step = iota // variable = value
	send               // the statement
	assign             // into = the first row of the answer
	jump
	unless // jump unless value
	repeat // counter = value; jump when it is 0
	again  // jump while --counter > 0
)

// statement is a statement with what fills it in.
type statement struct {
	workload.Statement
	args   []int   // variables, one for each marker
	pieces []piece // for a text that differs each time; then args is nil
	rows   bool    // \into follows
}

// piece is a part of a text: plain, a value or a name.
type piece struct {
	text     string
	variable int
	name     bool
	at       place
}

// steps is how much may be done without a statement between, in commands, operators and pieces of text: a script that
// goes on for longer would hold up everything else.
const steps = 1_000_000

// stepBytes is how much text counts as a step.
const stepBytes = 64

// mostRepeats bounds one \repeat.
const mostRepeats = 1_000_000

// generator runs the transactions of one session.
type generator struct {
	*program
	rng    *rand.Rand
	pcg    rand.PCG
	saved  rand.PCG // as it was after Begin
	states []state

	op    *operation
	st    *state
	pc    int
	err   error // of Begin
	loops []int
	left  int // steps until the next statement

	args []workload.Datum
	text []byte

	want   bool // the first row of the answer is kept
	got    bool
	row    []workload.Datum
	ends   []int // of each text in rowMem, -1 for what is no text
	rowMem []byte
}

// state is what a session keeps for one script.
type state struct {
	vars    []workload.Datum
	mem     [][]byte // the texts of vars
	bufs    [][]byte
	seqs    []int64
	savedAt []int64 // seqs as they were before Begin
	draws   []draw
}

// draw is a distribution in use.
type draw struct {
	workload.Draw
	ready bool
	param float64
}

func newGenerator(p *program, seed uint64, session int) *generator {
	g := &generator{program: p, states: make([]state, len(p.frames))}
	g.pcg.Seed(seed, uint64(session))
	g.rng = rand.New(&g.pcg)
	loops := 0
	for i, f := range p.frames {
		s := f.script
		st := &g.states[i]
		*st = state{
			vars: make([]workload.Datum, s.vars), mem: make([][]byte, s.vars), bufs: make([][]byte, s.buffers),
			seqs: make([]int64, s.sequences), savedAt: make([]int64, s.sequences), draws: make([]draw, s.draws),
		}
		for v := range sessionVariables {
			st.vars[v] = workload.Int(int64(session))
		}
		for _, c := range f.constants {
			st.vars[c.variable] = c.value
		}
		for _, t := range s.transactions {
			loops = max(loops, t.loops)
		}
	}
	g.loops = make([]int, loops)
	return g
}

// Begin draws a transaction.
func (g *generator) Begin(op *workload.Op) {
	n := g.rng.IntN(g.weight)
	i := 0
	for n >= g.ops[i].upTo {
		i++
	}
	g.op = &g.ops[i]
	g.st = &g.states[g.op.frame]
	*op = workload.Op{Kind: i}
	copy(g.st.savedAt, g.st.seqs)
	g.err = nil
	if g.op.think != nil {
		op.Think, g.err = g.think()
	}
	g.saved = g.pcg
	g.start()
}

// longestThink is more than anybody waits.
const longestThink = 24 * time.Hour

func (g *generator) think() (time.Duration, error) {
	d, err := g.op.think.eval(g)
	if err != nil {
		return 0, err
	}
	f, ok := float(d)
	if !ok || math.IsNaN(f) {
		return 0, g.op.think.place().errorf("", "%s is not a think time", d)
	}
	return time.Duration(min(max(0, f*g.op.unit), float64(longestThink))), nil
}

// Again goes back to the start of the same transaction: all random numbers and sequences come again.
func (g *generator) Again() {
	g.pcg = g.saved
	copy(g.st.seqs, g.st.savedAt)
	g.start()
}

func (g *generator) start() {
	g.pc, g.want, g.got = 0, false, false
	own := g.op.frame
	first := sessionVariables + len(g.frames[own].constants) // options have the lowest numbers
	clear(g.st.vars[first:])
}

// Next runs commands up to the next statement.
func (g *generator) Next(c *workload.Call) (bool, error) {
	if g.err != nil {
		return false, g.err
	}
	t := g.op.transaction
	for g.left = steps; g.left > 0; g.left-- {
		if g.pc >= len(t.code) {
			return false, nil
		}
		in := &t.code[g.pc]
		g.pc++
		switch in.do {
		case send:
			return true, g.send(c, in)
		case assign:
			if err := g.assign(in); err != nil {
				return false, err
			}
		case jump:
			g.pc = in.to
		case again:
			if g.loops[in.loop]--; g.loops[in.loop] > 0 {
				g.pc = in.to
			}
		case set, unless, repeat:
			v, err := in.value.eval(g)
			if err != nil {
				return false, err
			}
			switch in.do {
			case set:
				g.st.set(in.variable, v)
			case unless:
				if !truth(v) {
					g.pc = in.to
				}
			default:
				n, err := v.Int()
				if err != nil || n > mostRepeats {
					return false, in.at.errorf("", "\\repeat takes a number up to %d, not %s", mostRepeats, v)
				}
				if g.loops[in.loop] = int(n); n <= 0 {
					g.pc = in.to
				}
			}
		}
	}
	return false, t.at.errorf("take statements into the loops, or make them shorter",
		"transaction %s has taken %d steps without a statement", t.name, steps)
}

// set keeps v under a variable, and a copy of its text: what v points to may be gone soon.
func (s *state) set(variable int, v workload.Datum) {
	if v.Kind() == workload.BytesDatum {
		s.mem[variable] = append(s.mem[variable][:0], v.Raw()...)
		v = workload.Bytes(s.mem[variable])
	}
	s.vars[variable] = v
}

func (g *generator) send(c *workload.Call, in *instruction) error {
	st := &g.op.calls[in.call]
	*c = workload.Call{Statement: g.op.statement + in.call}
	g.want, g.got = st.rows, false
	if st.pieces == nil {
		g.args = g.args[:0]
		for _, v := range st.args {
			g.args = append(g.args, g.st.vars[v])
		}
		c.Args = g.args
		return nil
	}
	g.text = g.text[:0]
	for i := range st.pieces {
		p := &st.pieces[i]
		g.text = append(g.text, p.text...)
		if p.variable < 0 {
			continue
		}
		v := g.st.vars[p.variable]
		if !p.name {
			g.text = v.AppendLiteralIn(g.dialect, g.text)
			continue
		}
		n := len(g.text)
		switch v.Kind() {
		case workload.BytesDatum:
			g.text = append(g.text, v.Raw()...)
		case workload.NullDatum:
		default:
			g.text = v.AppendLiteral(g.text)
		}
		if !isName(g.text[n:]) {
			return p.at.errorf("values are written :name, they are quoted as they need it",
				"%q cannot be a part of a name", v.String())
		}
	}
	c.Text = g.text
	return nil
}

// isName reports whether b can be a part of a name without quotes.
func isName(b []byte) bool {
	for _, c := range b {
		if !isNameByte(c) {
			return false
		}
	}
	return len(b) > 0
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// Row keeps the first row where \into wants it. The variables change later: they may still be arguments.
func (g *generator) Row(row []workload.Datum) {
	if !g.want || g.got {
		return
	}
	g.got = true
	g.row, g.ends, g.rowMem = append(g.row[:0], row...), g.ends[:0], g.rowMem[:0]
	for _, d := range row {
		if d.Kind() == workload.BytesDatum {
			g.rowMem = append(g.rowMem, d.Raw()...)
		}
		g.ends = append(g.ends, len(g.rowMem))
	}
}

// assign puts the columns of the row into variables, NULL when there was no row.
func (g *generator) assign(in *instruction) error {
	if !g.got {
		for _, v := range in.into {
			g.st.vars[v] = workload.Datum{}
		}
		return nil
	}
	if len(g.row) != len(in.into) {
		return in.at.errorf("name one variable for each column", "\\into has %d names, but the answer has %d columns",
			len(in.into), len(g.row))
	}
	from := 0
	for i, v := range in.into {
		d := g.row[i]
		if d.Kind() == workload.BytesDatum {
			d = workload.Bytes(g.rowMem[from:g.ends[i]])
		}
		from = g.ends[i]
		g.st.set(v, d)
	}
	return nil
}
