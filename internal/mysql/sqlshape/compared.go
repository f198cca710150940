package sqlshape

import (
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/shape"
)

// maxList bounds how much of an IN list is told.
const maxList = 100

// Compared returns the shape of a statement and its comparisons, those that AND connects at the outermost level.
// Comparisons of two columns stand there once, conditions under OR and NOT do not.
func Compared(sql string) (shape.Shape, []shape.Comparison, error) {
	n, _, err := parseAny(sql)
	if err != nil {
		return shape.Shape{}, nil, err
	}
	return compared(n)
}

func compared(n ast.StmtNode) (shape.Shape, []shape.Comparison, error) {
	s := &shaper{}
	if s.statement(n); s.err() != nil {
		return shape.Shape{}, nil, s.err()
	}
	c := &comparer{s: s}
	switch n := n.(type) {
	case *ast.SelectStmt:
		c.from(n.From)
		c.where(n.Where, false)
	case *ast.UpdateStmt:
		c.from(n.TableRefs)
		c.where(n.Where, false)
	case *ast.DeleteStmt:
		c.from(n.TableRefs)
		c.where(n.Where, false)
	}
	if len(c.list) > mostConditions {
		return shape.Shape{}, nil, tooMuch()
	}
	return s.Shape, c.list, nil
}

type comparer struct {
	s    *shaper
	list []shape.Comparison
}

func (c *comparer) from(f *ast.TableRefsClause) {
	if f == nil || f.TableRefs == nil {
		return
	}
	eachJoin(f.TableRefs, func(j *ast.Join, left, right []int) {
		outer := j.Tp == ast.LeftJoin || j.Tp == ast.RightJoin
		if j.On != nil {
			c.where(j.On.Expr, outer)
		}
		for _, u := range j.Using {
			if len(left) == 1 && len(right) == 1 {
				name := u.Name.O
				c.list = append(c.list, shape.Comparison{
					Op: "=", Outer: outer,
					Left:  shape.Operand{Kind: shape.Column, Table: left[0], Column: name, Expr: quoteName(name)},
					Right: []shape.Operand{{Kind: shape.Column, Table: right[0], Column: name, Expr: quoteName(name)}},
				})
			}
		}
	})
}

// turned are the operators with their sides exchanged.
var turned = map[string]string{"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (c *comparer) where(e ast.ExprNode, outer bool) {
	if e == nil {
		return
	}
	switch x := bare(e).(type) {
	case *ast.BinaryOperationExpr:
		op := map[opcode.Op]string{
			opcode.EQ: "=", opcode.NullEQ: "<=>", opcode.LT: "<", opcode.LE: "<=",
			opcode.GT: ">", opcode.GE: ">=",
		}[x.Op]
		switch {
		case x.Op == opcode.LogicAnd:
			c.where(x.L, outer)
			c.where(x.R, outer)
		case op != "":
			c.add(op, outer, x.L, x.R)
		}
	case *ast.PatternInExpr:
		if x.Sel == nil && !x.Not {
			c.add("in", outer, x.Expr, x.List[:min(len(x.List), maxList)]...)
		}
	case *ast.BetweenExpr:
		if !x.Not {
			c.add("between", outer, x.Expr, x.Left, x.Right)
		}
	case *ast.PatternLikeOrIlikeExpr:
		if !x.Not {
			c.add("like", outer, x.Expr, x.Pattern)
		}
	}
}

func (c *comparer) add(op string, outer bool, left ast.ExprNode, right ...ast.ExprNode) {
	x := shape.Comparison{Op: op, Outer: outer}
	x.Left, x.LeftCollate = c.operand(left)
	for _, r := range right {
		o, collate := c.operand(r)
		x.Right = append(x.Right, o)
		if collate != "" {
			x.RightCollate = collate
		}
	}
	holds := func(o shape.Operand) bool { return o.Kind == shape.Column || o.Kind == shape.Wrapped }
	if back, ok := turned[op]; ok && !holds(x.Left) && holds(x.Right[0]) {
		x.Op, x.Left, x.Right[0] = back, x.Right[0], x.Left
		x.LeftCollate, x.RightCollate = x.RightCollate, x.LeftCollate
	}
	if holds(x.Left) {
		c.list = append(c.list, x)
	}
}

func (c *comparer) operand(e ast.ExprNode) (o shape.Operand, collate string) {
	e = bare(e)
	if x, ok := e.(*ast.SetCollationExpr); ok {
		collate = strings.ToLower(x.Collate)
		if col, ok := c.s.column(x.Expr); ok {
			return shape.Operand{
				Kind: shape.Wrapped, Table: col.Table, Column: col.Column, Func: "collate", Expr: written(e),
			}, collate
		}
		e = bare(x.Expr)
	}
	if col, ok := c.s.column(e); ok {
		return shape.Operand{
			Kind: shape.Column, Table: col.Table, Column: col.Column, Expr: quoteName(col.Column),
		}, collate
	}
	o = shape.Operand{Kind: shape.Anything, Expr: written(e)}
	if v, ok := value(e); ok {
		v.Expr = o.Expr
		return v, collate
	}
	v := &finder{s: &shaper{Shape: shape.Shape{Tables: c.s.Tables}}}
	e.Accept(v)
	if len(v.cols) != 1 || v.sub || v.varies || v.aggregate {
		return o, collate
	}
	o.Kind, o.Table, o.Column = shape.Wrapped, v.cols[0].Table, v.cols[0].Column
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		o.Func = x.FnName.L
		if len(x.Args) == 1 {
			_, o.Plain = c.s.column(x.Args[0])
		}
	case *ast.FuncCastExpr:
		o.Func = "cast"
	case *ast.BinaryOperationExpr, *ast.UnaryOperationExpr:
		o.Func = "arithmetic"
	case *ast.CaseExpr:
		o.Func = "case"
	default:
		o.Kind = shape.Anything
	}
	return o, collate
}

// value tells a literal.
func value(e ast.ExprNode) (shape.Operand, bool) {
	sign := ""
	if u, ok := e.(*ast.UnaryOperationExpr); ok && (u.Op == opcode.Minus || u.Op == opcode.Plus) {
		if u.Op == opcode.Minus {
			sign = "-"
		}
		e = bare(u.V)
	}
	if _, ok := e.(*driver.ParamMarkerExpr); ok {
		return shape.Operand{Kind: shape.Parameter}, true
	}
	v, ok := e.(*driver.ValueExpr)
	if !ok {
		return shape.Operand{}, false
	}
	switch v.Kind() {
	case driver.KindNull:
		return shape.Operand{Kind: shape.Null}, true
	case driver.KindInt64:
		return shape.Operand{Kind: shape.Number, Value: sign + strconv.FormatInt(v.GetInt64(), 10)}, true
	case driver.KindUint64:
		return shape.Operand{Kind: shape.Number, Value: sign + strconv.FormatUint(v.GetUint64(), 10)}, true
	case driver.KindFloat32, driver.KindFloat64, driver.KindMysqlDecimal:
		return shape.Operand{Kind: shape.Number, Value: sign + written(v)}, true
	case driver.KindString:
		if sign == "" {
			return shape.Operand{Kind: shape.Text, Value: v.GetString()}, true
		}
	}
	return shape.Operand{}, false
}

// longestExpr bounds an expression that is told, bytes: findings repeat it.
const longestExpr = 1000

// written writes an expression as SQL; empty when the parser cannot, when it is too long, and when it calls what is no
// function of a server: the parser writes the name of a function as it is, and one between quotes may hold anything.
func written(n ast.Node) (out string) {
	h := &harm{}
	if n.Accept(h); h.err != nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			out = ""
		}
	}()
	var b strings.Builder
	const flags = format.RestoreStringSingleQuotes | format.RestoreStringEscapeBackslash |
		format.RestoreKeyWordUppercase | format.RestoreNameBackQuotes |
		format.RestoreStringWithoutCharset | format.RestoreWithoutSchemaName | format.RestoreWithoutTableName |
		format.RestoreSpacesAroundBinaryOperation
	if err := n.Restore(format.NewRestoreCtx(flags, &b)); err != nil || b.Len() > longestExpr {
		return ""
	}
	return b.String()
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Hinted returns the names that a statement's hints name: the indexes of USE, FORCE and IGNORE INDEX anywhere in it,
// and every word of the hints in comments, which may name one. They are as written.
func Hinted(sql string) []string {
	h := &hinted{}
	for i := 0; i < len(sql); {
		if from, code := mytext.Executed(sql, i); code { // before Next looks for its end, each time
			i = from
			continue
		}
		kind, end := mytext.Next(sql, i)
		if strings.HasPrefix(sql[i:end], "/*+") {
			h.words(strings.TrimSuffix(sql[i+len("/*+"):end], "*/"))
		} else if kind == mytext.Open { // the text was cut, or is no statement: better too many names
			h.words(sql[i+1:])
		}
		i = end
	}
	if n, _, err := parseAny(sql); err == nil {
		n.Accept(h)
	}
	return h.names
}

type hinted struct {
	names []string
	seen  map[string]bool
}

// longestHint is how long a text in quotes that is no name may be, in bytes, for others to be looked for after it.
const longestHint = 1000

// words adds those of a hint. One that is not in quotes may hold the marks of a fingerprint.
func (h *hinted) words(hint string) {
	var word strings.Builder
	end := func() { h.add(word.String()); word.Reset() }
	// Quotes that are no more than marks, for want of an end: to look for it again would read all of a hostile text
	// each time.
	open := map[byte]bool{}
	for hint != "" {
		name, rest := "", ""
		if c := hint[0]; mytext.WordByte(c) || (c == '`' || c == '"') && !open[c] {
			name, rest = mytext.CutName(hint)
		}
		switch {
		case name != "":
			word.WriteString(name)
			hint = rest
		case strings.IndexByte(" \t\r\n\v\f,()@.`'\"", hint[0]) < 0:
			word.WriteByte(hint[0])
			hint = hint[1:]
		default:
			if c := hint[0]; strings.IndexByte("`'\"", c) >= 0 && !open[c] {
				to, closed := mytext.Quoted(hint, 0)
				open[c] = c == '\'' || !closed || to > longestHint
			}
			end()
			hint = hint[1:]
		}
	}
	end()
}

func (h *hinted) add(name string) {
	if name != "" && once(&h.seen, name) {
		h.names = append(h.names, name)
	}
}

func (h *hinted) Enter(n ast.Node) (ast.Node, bool) {
	if x, ok := n.(*ast.TableName); ok {
		for _, hint := range x.IndexHints {
			for _, name := range hint.IndexNames {
				h.add(name.O)
			}
		}
	}
	return n, false
}

func (h *hinted) Leave(n ast.Node) (ast.Node, bool) { return n, true }
