package script

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/dyno-perf/dyno/internal/workload"
)

// function is something that expressions can call.
type function struct {
	name        string
	usage       string
	least, most int  // number of arguments; most -1 for any
	lists       bool // the name of a list stands for its values
	keeps       keeps
	eval        func(c *call, g *generator) (workload.Datum, error)
}

// keeps says what a call needs of the session's state.
type keeps uint8

const (
	keepsNothing keeps = iota
	keepsBuffer
	keepsSequence
	keepsDraw
)

// functions are what scripts can call. Names of pgbench stand beside our own.
func functions() []function {
	return []function{
		{"uniform", "uniform(1, 100)", 2, 2, false, keepsNothing, uniform},
		{"random", "random(1, 100)", 2, 2, false, keepsNothing, uniform},
		{
			"zipf", "zipf(1, 100) or zipf(1, 100, 0.8)", 2, 3, false, keepsDraw,
			distributed("zipfian", "rand-zipfian-exp"),
		},
		{
			"random_zipfian", "random_zipfian(1, 100, 1.1)", 3, 3, false, keepsDraw,
			distributed("zipfian", "rand-zipfian-exp"),
		},
		{"special", "special(1, 100)", 2, 2, false, keepsDraw, distributed("special", "")},
		{"gaussian", "gaussian(1, 100)", 2, 2, false, keepsDraw, distributed("gaussian", "")},
		{
			"pareto", "pareto(1, 100) or pareto(1, 100, 0.2)", 2, 3, false, keepsDraw,
			distributed("pareto", "rand-pareto-h"),
		},
		{"exponential", "exponential(50), with the mean", 1, 1, false, keepsNothing, exponential},
		{"nurand", "nurand(255, 1, 3000)", 3, 3, false, keepsNothing, nurand},
		{"sequence", "sequence(1) or sequence(1, 10)", 0, 2, false, keepsSequence, sequence},
		{"hash", "hash(:id)", 1, 1, false, keepsNothing, hash},
		{"pick", "pick(a_list) or pick('a', 'b')", 1, -1, true, keepsNothing, pick},
		{"item", "item(1, a_list) or item(1, 'a', 'b')", 2, -1, true, keepsNothing, item},
		{"string", "string(10) or string(5, 10)", 1, 2, false, keepsBuffer, letters},
		{"digits", "digits(10) or digits(5, 10)", 1, 2, false, keepsBuffer, digits},
		{"pattern", "pattern('###-@@')", 1, 1, false, keepsBuffer, pattern},
		{"uuid", "uuid()", 0, 0, false, keepsBuffer, uuid},
		{"concat", "concat('user', :id)", 1, -1, false, keepsBuffer, concat},
		{"abs", "abs(:x)", 1, 1, false, keepsNothing, abs},
		{"int", "int(:x)", 1, 1, false, keepsNothing, integer},
		{"least", "least(:a, :b)", 1, -1, false, keepsNothing, extreme(-1)},
		{"greatest", "greatest(:a, :b)", 1, -1, false, keepsNothing, extreme(1)},
		{"mod", "mod(:a, 10)", 2, 2, false, keepsNothing, mod},
	}
}

func find(name string) *function {
	for _, f := range functions() {
		if f.name == name {
			return &f
		}
	}
	return nil
}

func functionNames() (list []string) {
	for _, f := range functions() {
		list = append(list, f.name)
	}
	return list
}

// whole evaluates argument i as a whole number; a fraction is cut off.
func (c *call) whole(g *generator, i int) (int64, error) {
	v, err := c.args[i].eval(g)
	if err != nil {
		return 0, err
	}
	if n, ok := whole(v); ok {
		return n, nil
	}
	if f, ok := float(v); ok && math.Abs(f) < 1<<62 {
		return int64(f), nil
	}
	return 0, c.args[i].place().errorf("", "%s is not a whole number", quotedBrief(v))
}

func (c *call) float(g *generator, i int) (float64, error) {
	v, err := c.args[i].eval(g)
	if err != nil {
		return 0, err
	}
	f, ok := float(v)
	if !ok {
		return 0, c.args[i].place().errorf("", "%s is not a number", quotedBrief(v))
	}
	return f, nil
}

// bounds evaluates the first two arguments as a range.
func (c *call) bounds(g *generator) (lo, hi int64, err error) {
	if lo, err = c.whole(g, 0); err != nil {
		return 0, 0, err
	}
	if hi, err = c.whole(g, 1); err != nil {
		return 0, 0, err
	}
	if lo > hi {
		return 0, 0, c.at.errorf("the smaller number comes first", "%s from %d to %d: there is not a number between",
			c.f.name, lo, hi)
	}
	return lo, hi, nil
}

func uniform(c *call, g *generator) (workload.Datum, error) {
	lo, hi, err := c.bounds(g)
	if err != nil {
		return workload.Datum{}, err
	}
	return workload.Int(g.uniform(lo, hi)), nil
}

// uniform draws from lo to hi, both included.
func (g *generator) uniform(lo, hi int64) int64 {
	if n := uint64(hi) - uint64(lo) + 1; n != 0 {
		return lo + int64(g.rng.Uint64N(n))
	}
	return int64(g.rng.Uint64())
}

// distributed makes a function that draws in one of the ways of the OLTP family.
func distributed(kind, param string) func(c *call, g *generator) (workload.Datum, error) {
	return func(c *call, g *generator) (workload.Datum, error) {
		lo, hi, err := c.bounds(g)
		if err != nil {
			return workload.Datum{}, err
		}
		n := uint64(hi) - uint64(lo) + 1
		if n == 0 || n > 1<<53 {
			return workload.Datum{}, c.at.errorf("", "%s from %d to %d: the range is too wide", c.f.name, lo, hi)
		}
		d := &g.st.draws[c.own]
		var x float64
		if len(c.args) > 2 {
			if x, err = c.float(g, 2); err != nil {
				return workload.Datum{}, err
			}
		}
		if !d.ready || d.param != x {
			o := map[string]string{}
			if len(c.args) > 2 {
				o[param] = strconv.FormatFloat(x, 'g', -1, 64)
			}
			if d.Draw, err = workload.NewDraw(kind, int(n), o); err != nil {
				return workload.Datum{}, c.at.errorf("write "+c.f.usage, "%v", err)
			}
			d.ready, d.param = true, x
		}
		d.Over(int(n))
		return workload.Int(lo + int64(d.Next(g.rng)) - 1), nil
	}
}

func exponential(c *call, g *generator) (workload.Datum, error) {
	mean, err := c.float(g, 0)
	return workload.Float(mean * g.rng.ExpFloat64()), err
}

// nurand is TPC-C's uneven draw, clause 2.1.6, with a constant of 0.
func nurand(c *call, g *generator) (workload.Datum, error) {
	var v [3]int64
	for i := range v {
		n, err := c.whole(g, i)
		if err != nil {
			return workload.Datum{}, err
		}
		v[i] = n
	}
	a, lo, hi := v[0], v[1], v[2]
	if a < 0 || lo < 0 || hi < lo || hi > 1<<53 {
		return workload.Datum{}, c.at.errorf("write "+c.f.usage, "nurand(%d, %d, %d): the numbers must be from 0, "+
			"the smaller one first", a, lo, hi)
	}
	return workload.Int((g.uniform(0, a)|g.uniform(lo, hi))%(hi-lo+1) + lo), nil
}

// sequence counts the calls of this session.
func sequence(c *call, g *generator) (workload.Datum, error) {
	first, by := int64(1), int64(1)
	var err error
	if len(c.args) > 0 {
		first, err = c.whole(g, 0)
	}
	if len(c.args) > 1 && err == nil {
		by, err = c.whole(g, 1)
	}
	n := g.st.seqs[c.own]
	g.st.seqs[c.own]++
	return workload.Int(first + n*by), err
}

// hash scatters numbers and texts over the whole numbers from 0 (FNV-1a, then the finaliser of splitmix64).
func hash(c *call, g *generator) (workload.Datum, error) {
	v, err := c.args[0].eval(g)
	if err != nil || v.IsNull() {
		return v, err
	}
	h := uint64(14695981039346656037)
	if v.Kind() == workload.BytesDatum {
		for _, b := range v.Raw() {
			h = (h ^ uint64(b)) * 1099511628211
		}
	} else {
		h ^= v.Bits()
	}
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return workload.Int(int64((h ^ h>>31) >> 1)), nil
}

func pick(c *call, g *generator) (workload.Datum, error) {
	return c.args[g.rng.IntN(len(c.args))].eval(g)
}

func item(c *call, g *generator) (workload.Datum, error) {
	n, err := c.whole(g, 0)
	if err != nil {
		return workload.Datum{}, err
	}
	if n < 1 || n >= int64(len(c.args)) {
		return workload.Datum{}, c.at.errorf("they are counted from 1", "item %d of %d", n, len(c.args)-1)
	}
	return c.args[n].eval(g)
}

// longestText is what one function makes at most: more than a server takes by default.
const longestText = 16 << 20

// length evaluates one or two arguments as the length of a text, and empties the buffer of the call.
func (c *call) length(g *generator) (n int, buf []byte, err error) {
	lo, err := c.whole(g, 0)
	hi := lo
	if err == nil && len(c.args) > 1 {
		lo, hi, err = c.bounds(g)
	}
	if err == nil && (lo < 0 || hi > longestText) {
		err = c.at.errorf("", "a text of %d characters: 0 to %d are possible", hi, longestText)
	}
	if err != nil {
		return 0, nil, err
	}
	return int(g.uniform(lo, hi)), g.st.bufs[c.own][:0], nil
}

// done keeps the buffer for the next time.
func (c *call) done(g *generator, b []byte) (workload.Datum, error) {
	g.st.bufs[c.own] = b
	g.left -= len(b) / stepBytes
	return workload.Bytes(b), nil
}

func letters(c *call, g *generator) (workload.Datum, error) { return c.random(g, 'a', 26) }
func digits(c *call, g *generator) (workload.Datum, error)  { return c.random(g, '0', 10) }

func (c *call) random(g *generator, first byte, of uint64) (workload.Datum, error) {
	n, b, err := c.length(g)
	if err != nil {
		return workload.Datum{}, err
	}
	var pool uint64
	for i := range n {
		if i%10 == 0 {
			pool = g.rng.Uint64() // 26^10 is a tiny part of 2^64
		}
		b = append(b, first+byte(pool%of))
		pool /= of
	}
	return c.done(g, b)
}

// pattern replaces # by a digit and @ by a letter, as sysbench does.
func pattern(c *call, g *generator) (workload.Datum, error) {
	v, err := c.args[0].eval(g)
	if err != nil || v.IsNull() {
		return v, err
	}
	b := g.st.bufs[c.own][:0]
	if v.Kind() != workload.BytesDatum {
		return workload.Datum{}, c.at.errorf("write "+c.f.usage, "%s is not a text", v)
	}
	for _, x := range v.Raw() {
		switch x {
		case '#':
			x = '0' + byte(g.rng.IntN(10))
		case '@':
			x = 'a' + byte(g.rng.IntN(26))
		}
		b = append(b, x)
	}
	return c.done(g, b)
}

// uuid makes one of version 4, RFC 9562.
func uuid(c *call, g *generator) (workload.Datum, error) {
	var x [16]byte
	for i := 0; i < len(x); i += 8 {
		binary.LittleEndian.PutUint64(x[i:], g.rng.Uint64())
	}
	x[6], x[8] = x[6]&0x0f|0x40, x[8]&0x3f|0x80
	b := g.st.bufs[c.own][:0]
	for i, from := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, x[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return c.done(g, b)
}

func concat(c *call, g *generator) (workload.Datum, error) {
	b := g.st.bufs[c.own][:0]
	for _, a := range c.args {
		v, err := a.eval(g)
		if err != nil || v.IsNull() {
			return v, err
		}
		if v.Kind() == workload.BytesDatum {
			b = append(b, v.Raw()...)
		} else {
			b = v.AppendLiteral(b)
		}
		if len(b) > longestText {
			return workload.Datum{}, c.at.errorf("", "a text of more than %d characters", longestText)
		}
	}
	return c.done(g, b)
}

func abs(c *call, g *generator) (workload.Datum, error) {
	v, err := c.args[0].eval(g)
	if err != nil || v.IsNull() {
		return v, err
	}
	if n, ok := whole(v); ok && n != math.MinInt64 {
		return workload.Int(max(n, -n)), nil
	}
	f, ok := float(v)
	if !ok {
		return v, c.at.errorf("", "%s is not a number", quotedBrief(v))
	}
	return workload.Float(math.Abs(f)), nil
}

func integer(c *call, g *generator) (workload.Datum, error) {
	n, err := c.whole(g, 0)
	return workload.Int(n), err
}

// extreme returns the smallest or the largest of its arguments; NULL when one of them is.
func extreme(sign int) func(c *call, g *generator) (workload.Datum, error) {
	return func(c *call, g *generator) (best workload.Datum, err error) {
		for i, a := range c.args {
			v, err := a.eval(g)
			if err != nil || v.IsNull() {
				return v, err
			}
			if n, _ := compare(v, best); i == 0 || n == sign {
				best = v
			}
		}
		return best, nil
	}
}

func mod(c *call, g *generator) (workload.Datum, error) {
	x := operator{sign: "%", at: c.at}
	a, err := c.args[0].eval(g)
	if err != nil {
		return a, err
	}
	b, err := c.args[1].eval(g)
	if err != nil || a.IsNull() || b.IsNull() {
		return workload.Datum{}, err
	}
	return x.arithmetic(a, b)
}
