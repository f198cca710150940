package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/suggest"
	"github.com/dyno-perf/dyno/internal/workload"
)

// expression is a value that is computed anew each time. eval allocates nothing in the steady state; a text that it
// returns is valid until the same expression is evaluated again.
type expression interface {
	eval(g *generator) (workload.Datum, error)
	place() place
}

type literal struct {
	value workload.Datum
	at    place
}

type reference struct {
	variable int
	at       place
}

type unary struct {
	not bool // else the sign changes
	x   expression
	at  place
}

type operator struct {
	sign string
	x, y expression
	at   place
}

type isNull struct {
	x    expression
	want bool
	at   place
}

// call is a function with its arguments, and what it needs of the session's state.
type call struct {
	f    *function
	args []expression
	own  int // index of its buffer, its sequence or its distribution, whichever it has
	at   place
}

func (x *literal) place() place   { return x.at }
func (x *reference) place() place { return x.at }
func (x *unary) place() place     { return x.at }
func (x *operator) place() place  { return x.at }
func (x *isNull) place() place    { return x.at }
func (x *call) place() place      { return x.at }

// nested is how deep brackets may go.
const nested = 100

func (p *parser) expression(l *lexer) (expression, error) { return p.or(l) }

// sign takes one of the signs or words when it comes next.
func (l *lexer) sign(list ...string) (string, place, error) {
	before := l.i
	t, err := l.next()
	if err != nil {
		return "", place{}, err
	}
	if t.kind == signToken && slices.Contains(list, t.text) {
		return t.text, l.p.at(t.offset), nil
	}
	if w := strings.ToLower(t.text); t.kind == nameToken && slices.Contains(list, w) {
		return w, l.p.at(t.offset), nil
	}
	l.i = before
	return "", place{}, nil
}

// chain reads operands of the next level joined by any of the signs, from left to right.
func (p *parser) chain(l *lexer, next func(*lexer) (expression, error), signs ...string) (expression, error) {
	x, err := next(l)
	for n := 0; err == nil; n++ {
		s, at, serr := l.sign(signs...)
		if serr != nil || s == "" {
			return x, serr
		}
		if n > 1000 {
			return nil, at.errorf("", "an expression with more than 1000 operators")
		}
		var y expression
		if y, err = next(l); err == nil {
			x = &operator{s, x, y, at}
		}
	}
	return nil, err
}

func (p *parser) or(l *lexer) (expression, error)  { return p.chain(l, p.and, "or") }
func (p *parser) and(l *lexer) (expression, error) { return p.chain(l, p.not, "and") }

func (p *parser) not(l *lexer) (expression, error) {
	s, at, err := l.sign("not")
	if err != nil {
		return nil, err
	}
	if s == "" {
		return p.comparison(l)
	}
	if err := l.deeper(at); err != nil {
		return nil, err
	}
	defer func() { l.depth-- }()
	x, err := p.not(l)
	return &unary{true, x, at}, err
}

func (p *parser) comparison(l *lexer) (expression, error) {
	x, err := p.chain(l, p.sum, "=", "==", "<>", "!=", "<", "<=", ">", ">=")
	if err != nil {
		return nil, err
	}
	s, at, err := l.sign("is")
	if err != nil || s == "" {
		return x, err
	}
	not, _, err := l.sign("not")
	if err != nil {
		return nil, err
	}
	null, _, err := l.sign("null")
	if err == nil && null == "" {
		err = at.errorf("write :x is null, or :x is not null", "is without null")
	}
	return &isNull{x, not == "", at}, err
}

func (p *parser) sum(l *lexer) (expression, error)     { return p.chain(l, p.product, "+", "-") }
func (p *parser) product(l *lexer) (expression, error) { return p.chain(l, p.single, "*", "/", "%") }

func (l *lexer) deeper(at place) error {
	if l.depth++; l.depth > nested {
		return at.errorf("", "more than %d brackets or signs inside of each other", nested)
	}
	return nil
}

// single reads an operand.
func (p *parser) single(l *lexer) (expression, error) {
	t, err := l.next()
	if err != nil {
		return nil, err
	}
	at := p.at(t.offset)
	if err := l.deeper(at); err != nil {
		return nil, err
	}
	defer func() { l.depth-- }()
	switch t.kind {
	case numberToken:
		d := parseValue(t.text)
		if d.Kind() == workload.BytesDatum {
			return nil, at.errorf("numbers are 42, 10K, 1.5 or 1e6", "%s is not a number", t.text)
		}
		return &literal{d, at}, nil
	case stringToken:
		return &literal{workload.String(t.text), at}, nil
	case variableToken:
		v, err := p.use(t.text, t.offset, l.fixed)
		return &reference{v, at}, err
	case nameToken:
		if !l.peek('(') {
			switch strings.ToLower(t.text) {
			case "null":
				return &literal{workload.Datum{}, at}, nil
			case "true":
				return &literal{workload.Int(1), at}, nil
			case "false":
				return &literal{workload.Int(0), at}, nil
			}
			hint := "texts are in quotes"
			switch _, ok := p.known[t.text]; {
			case ok:
				hint = "write :" + t.text
			case find(t.text) != nil:
				hint = "write " + t.text + "(…)"
			case p.lists[t.text] != nil:
				hint = "write pick(" + t.text + ")"
			}
			return nil, at.errorf(hint, "unexpected %s", t.text)
		}
		return p.call(l, t)
	case signToken:
		switch t.text {
		case "-", "+":
			x, err := p.single(l)
			if t.text == "+" || err != nil {
				return x, err
			}
			return &unary{false, x, at}, nil
		case "(":
			x, err := p.expression(l)
			if err == nil && !l.peek(')') {
				err = p.at(l.i).errorf("", "a ) is missing for the ( in column %d", at.column)
			}
			return x, err
		}
	default:
	}
	if t.kind == endToken {
		return nil, at.errorf("", "a value is missing")
	}
	return nil, at.errorf("", "a value is missing before %s", t.text)
}

// call reads the arguments of a function, behind the bracket.
func (p *parser) call(l *lexer, name token) (expression, error) {
	at := p.at(name.offset)
	f := find(name.text)
	if f == nil {
		names := functionNames()
		hint := "functions are " + strings.Join(names, ", ")
		if n := suggest.Name(name.text, names, len(name.text)/2+1); n != "" {
			hint = fmt.Sprintf("did you mean %s?", n)
		}
		return nil, at.errorf(hint, "unknown function %s", name.text)
	}
	c := &call{f: f, at: at}
	for !l.peek(')') {
		if len(c.args) > 0 && !l.peek(',') {
			return nil, p.at(l.i).errorf("", "a comma or ) is missing in %s(…)", f.name)
		}
		if f.lists {
			before := l.i
			t, err := l.next()
			if err != nil {
				return nil, err
			}
			if list := p.lists[t.text]; t.kind == nameToken && list != nil {
				c.args = append(c.args, list...)
				continue
			}
			l.i = before
		}
		x, err := p.expression(l)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, x)
	}
	if n := len(c.args); n < f.least || n > f.most && f.most >= 0 {
		return nil, at.errorf("write "+f.usage, "%s has %s", f.name, plural(n, "argument"))
	}
	switch f.keeps {
	case keepsBuffer:
		c.own, p.s.buffers = p.s.buffers, p.s.buffers+1
	case keepsSequence:
		c.own, p.s.sequences = p.s.sequences, p.s.sequences+1
	case keepsDraw:
		c.own, p.s.draws = p.s.draws, p.s.draws+1
	case keepsNothing:
	}
	return c, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
