package sqlshape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser makes its literals with it

	"github.com/dyno-perf/dyno/internal/shape"
)

// MaxBytes and maxJoins bound what is given to the parser: a longer statement is a bulk insert or a list of ids. For
// each join, and for each string that follows another, the parser goes through all those before it.
const (
	MaxBytes = 64 << 10
	maxJoins = 1000
)

// These bound the lists of a shape, so that what rules make of them stays small: each compares some with others.
// Servers join 61 tables and nest 63 levels; the columns of a table are 4096 at most, of InnoDB 1017. Equal conditions
// count once.
const (
	mostConditions = 500
	mostColumns    = 2000
	mostParts      = 200
	mostLevels     = 64
)

// ErrTooLarge is the answer to a statement that says more than is looked at.
var ErrTooLarge = errors.New("parse statement: it is too large")

func tooMuch() error {
	return fmt.Errorf("%w: more than %d tables, %d conditions, %d columns, %d SELECTs or %d levels are not looked at",
		ErrTooLarge, mostNames, mostConditions, mostColumns, mostParts, mostLevels)
}

// Parse returns the shape of one statement: a fingerprint, a digest text of performance_schema, or a statement with its
// literals. The error never holds any of the text.
func Parse(sql string) (shape.Shape, error) {
	n, _, err := parseAny(sql)
	if err != nil {
		return shape.Shape{}, err
	}
	s := &shaper{}
	s.statement(n)
	s.parts(n)
	if err := s.err(); err != nil {
		return shape.Shape{}, err
	}
	return s.Shape, nil
}

// parseAny parses sql as it is or, when that fails, as a fingerprint; it returns the text that was parsed.
func parseAny(sql string) (ast.StmtNode, string, error) {
	n, err := parseOne(sql)
	if err == nil {
		return n, sql, nil
	}
	restored := restore(sql)
	if n, err2 := parseOne(restored); err2 == nil {
		return n, restored, nil
	}
	return nil, "", err
}

// parseOne parses exactly one statement. The parser's panics become errors.
func parseOne(sql string) (n ast.StmtNode, err error) {
	if len(sql) > MaxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d are not looked at", ErrTooLarge, len(sql), MaxBytes)
	}
	if n := strings.Count(strings.ToLower(sql), "join"); n > maxJoins {
		return nil, fmt.Errorf("%w: it has %d joins, more than %d are not looked at", ErrTooLarge, n, maxJoins)
	}
	// The parser reads what is in such a comment, and no server does: a string that begins there has it miss a table
	// that follows.
	if strings.Contains(sql, "/*T!") {
		return nil, shape.ErrNotUnderstood
	}
	defer func() {
		if recover() != nil {
			n, err = nil, shape.ErrNotUnderstood
		}
	}()
	p := parser.New()
	// Digest texts write every function apart from its parenthesis.
	p.SetSQLMode(mysql.ModeIgnoreSpace)
	ns, _, err := p.ParseSQL(sql)
	if err != nil {
		return nil, shape.ErrNotUnderstood // the parser's own error quotes the text
	}
	if len(ns) != 1 {
		return nil, fmt.Errorf("parse statement: it holds %d statements, one is wanted", len(ns))
	}
	return ns[0], nil
}

type shaper struct {
	shape.Shape
	aliases map[string]ast.ExprNode  // of the select list
	parent  *shaper                  // of a part
	named   map[string]bool          // tables that WITH defines, in lower case
	upper   map[shape.ColumnRef]bool // ranges that a < or <= bounds
	lower   map[shape.ColumnRef]bool
	at      map[shape.Predicate]int // where each of Predicates is, Bounded aside
	ored    int                     // predicates in Any
	whys    map[string]bool         // of Opaque
	reads   map[shape.ColumnRef]bool
	excess  bool // it says more than is looked at

	names tablesByName
}

// err returns ErrTooLarge when the lists do not hold all that the statement says.
func (s *shaper) err() error {
	if s.excess || len(s.Predicates)+s.ored > mostConditions ||
		max(len(s.Output), len(s.Reads), len(s.Set), len(s.OrderBy), len(s.GroupBy), len(s.Opaque)) > mostColumns {
		return tooMuch()
	}
	return nil
}

// once reports whether a set did not hold x, and puts it there.
func once[T comparable](set *map[T]bool, x T) bool {
	if (*set)[x] {
		return false
	}
	if *set == nil {
		*set = map[T]bool{}
	}
	(*set)[x] = true
	return true
}

func (s *shaper) opaque(why string) {
	if once(&s.whys, why) {
		s.Opaque = append(s.Opaque, why)
	}
}

func (s *shaper) statement(n ast.StmtNode) {
	switch n := n.(type) {
	case *ast.SelectStmt:
		s.Kind = shape.Select
		s.selectStmt(n)
	case *ast.UpdateStmt:
		s.Kind = shape.Update
		s.with(n.With)
		s.from(n.TableRefs)
		for _, a := range n.List {
			s.Set = append(s.Set, a.Column.Name.O)
		}
		s.where(n.Where, noTable)
		s.order(n.Order)
		s.Limit = n.Limit != nil
	case *ast.DeleteStmt:
		s.Kind = shape.Delete
		s.with(n.With)
		s.from(n.TableRefs)
		s.where(n.Where, noTable)
		s.order(n.Order)
		s.Limit = n.Limit != nil
	case *ast.InsertStmt:
		s.Kind = shape.Insert
		s.from(n.Table)
		if n.Select != nil {
			s.opaque("the SELECT of an INSERT")
		}
	case *ast.SetOprStmt:
		s.Kind = shape.Select
		s.with(n.With)
		s.opaque("UNION")
	default:
		s.Kind = shape.Other
	}
}

func (s *shaper) with(w *ast.WithClause) {
	if w == nil {
		return
	}
	s.opaque("WITH")
	s.named = map[string]bool{}
	for _, c := range w.CTEs {
		s.named[c.Name.L] = true
	}
}

func (s *shaper) selectStmt(n *ast.SelectStmt) {
	s.with(n.With)
	// ON conditions and WHERE refer to tables, so that these come first.
	s.from(n.From)
	s.aliases = map[string]ast.ExprNode{}
	if n.Fields != nil {
		for _, f := range n.Fields.Fields {
			if f.WildCard != nil {
				s.Star = true
				continue
			}
			if f.AsName.L != "" {
				s.aliases[f.AsName.L] = f.Expr
			}
			s.Output = append(s.Output, columnsIn(s, f.Expr)...)
			v := &finder{s: s}
			f.Expr.Accept(v)
			s.Folded = s.Folded || v.aggregate
		}
	}
	s.Distinct = n.Distinct
	s.Folded = s.Folded || n.Distinct || n.GroupBy != nil
	s.where(n.Where, noTable)
	if n.GroupBy != nil {
		s.GroupBy = s.items(n.GroupBy.Items, "GROUP BY an expression")
	}
	if n.Having != nil {
		s.Output = append(s.Output, columnsIn(s, n.Having.Expr)...)
	}
	s.order(n.OrderBy)
	s.Limit = n.Limit != nil
	s.Locking = n.LockInfo != nil && n.LockInfo.LockType != ast.SelectLockNone
}

// from collects the tables, then what their ON clauses say.
func (s *shaper) from(c *ast.TableRefsClause) {
	if c == nil || c.TableRefs == nil {
		return
	}
	s.tables(c.TableRefs)
	if !s.excess {
		s.joins(c.TableRefs)
	}
}

// onlyBy writes the first hint that lets rows be found by some indexes alone. Those that speak of an order only do not,
// nor do those that forbid some.
func onlyBy(hints []*ast.IndexHint) string {
	for _, h := range hints {
		how := map[ast.IndexHintType]string{ast.HintUse: "USE", ast.HintForce: "FORCE"}[h.HintType]
		if how == "" || h.HintScope != ast.HintForScan && h.HintScope != ast.HintForJoin {
			continue
		}
		var names []string
		for _, n := range h.IndexNames {
			names = append(names, n.O)
		}
		return how + " INDEX (" + strings.Join(names, ", ") + ")"
	}
	return ""
}

func (s *shaper) tables(n ast.ResultSetNode) {
	switch n := n.(type) {
	case *ast.Join:
		s.tables(n.Left)
		if n.Right != nil {
			s.tables(n.Right)
		}
	case *ast.TableSource:
		if s.excess = s.excess || len(s.Tables) == mostNames; s.excess {
			return
		}
		if t, ok := n.Source.(*ast.TableName); ok && !(t.Schema.L == "" && definedIn(s, t.Name.L)) {
			s.Tables = append(s.Tables, shape.TableRef{
				Schema: t.Schema.O, Name: t.Name.O, Alias: n.AsName.O, Hint: onlyBy(t.IndexHints),
			})
			return
		}
		s.opaque("derived table")
		if t, ok := n.Source.(*ast.TableName); ok && n.AsName.O == "" {
			s.Tables = append(s.Tables, shape.TableRef{Alias: t.Name.O})
			return
		}
		// It stands in the list so that its columns are not taken for another table's.
		s.Tables = append(s.Tables, shape.TableRef{Alias: n.AsName.O})
	}
}

// noTable is given for a condition that holds for the result as a whole.
var noTable []int

// eachJoin calls visit for every join under root, inner ones first, with the indexes of the tables on either side, as
// tables numbered them.
func eachJoin(root ast.ResultSetNode, visit func(j *ast.Join, left, right []int)) {
	next := 0
	var walk func(n ast.ResultSetNode) []int
	walk = func(n ast.ResultSetNode) []int {
		j, ok := n.(*ast.Join)
		if !ok {
			if n == nil {
				return nil
			}
			next++
			return []int{next - 1}
		}
		left := walk(j.Left)
		var right []int
		if j.Right != nil {
			right = walk(j.Right)
		}
		visit(j, left, right)
		return append(left, right...)
	}
	walk(root)
}

// joins reads the ON and USING clauses.
func (s *shaper) joins(root ast.ResultSetNode) {
	eachJoin(root, func(j *ast.Join, left, right []int) {
		inner := noTable
		switch j.Tp {
		case ast.LeftJoin:
			inner = right
		case ast.RightJoin:
			inner = left
		}
		if j.NaturalJoin {
			s.opaque("NATURAL JOIN")
		}
		if j.On != nil {
			s.where(j.On.Expr, inner)
		}
		for _, c := range j.Using {
			if len(left) != 1 || len(right) != 1 {
				s.opaque("USING over several tables")
				break
			}
			name := c.Name.O
			s.joined(shape.ColumnRef{Table: left[0], Column: name}, shape.ColumnRef{Table: right[0], Column: name},
				inner)
		}
	})
}

// where splits a condition at its ANDs. When inner is not empty the condition belongs to an outer join and says
// something about those tables only.
func (s *shaper) where(e ast.ExprNode, inner []int) {
	if e == nil {
		return
	}
	switch x := bare(e).(type) {
	case *ast.BinaryOperationExpr:
		switch x.Op {
		case opcode.LogicAnd:
			s.where(x.L, inner)
			s.where(x.R, inner)
		case opcode.LogicOr:
			s.or(x, inner)
		case opcode.EQ, opcode.NullEQ:
			s.compare(x.L, x.R, shape.Eq, inner)
		case opcode.LT, opcode.LE, opcode.GT, opcode.GE:
			s.bound(x)
			s.compare(x.L, x.R, shape.Range, inner)
		default:
			s.compare(x.L, x.R, shape.OtherOp, inner)
		}
	case *ast.PatternInExpr:
		if x.Sel != nil {
			s.opaque("sub-query")
			return
		}
		op := shape.In
		if x.Not {
			op = shape.OtherOp
		}
		for _, v := range x.List {
			if !constantIn(s, v) {
				s.opaque("IN with a list that depends on the row")
				return
			}
		}
		s.single(x.Expr, op, inner, x.List...)
	case *ast.BetweenExpr:
		op := shape.Range
		if x.Not || !constantIn(s, x.Left) || !constantIn(s, x.Right) {
			op = shape.OtherOp
		}
		if c, ok := s.column(x.Expr); ok && op == shape.Range {
			s.bounds(c, true, true)
		}
		s.single(x.Expr, op, inner, x.Left, x.Right)
	case *ast.PatternLikeOrIlikeExpr:
		op := shape.OtherOp
		if v, ok := bare(x.Pattern).(*driver.ValueExpr); ok && !x.Not {
			if p := v.GetString(); p != "" && p[0] != '%' && p[0] != '_' {
				op = shape.LikePrefix
			} else {
				s.opaque("LIKE that begins with a wildcard")
			}
		} else if !x.Not {
			s.opaque("LIKE with an unknown pattern")
		}
		s.single(x.Expr, op, inner)
	case *ast.IsNullExpr:
		op := shape.IsNull
		if x.Not {
			op = shape.OtherOp
		}
		s.single(x.Expr, op, inner)
	case *ast.ExistsSubqueryExpr, *ast.SubqueryExpr, *ast.CompareSubqueryExpr:
		s.opaque("sub-query")
	case *ast.UnaryOperationExpr:
		s.opaque("NOT")
	case *ast.PatternRegexpExpr:
		s.opaque("regular expression")
	case *ast.FuncCallExpr:
		s.opaque("function " + x.FnName.L)
	default:
		if !constantIn(s, e) {
			s.opaque("a condition that is not a comparison")
		}
	}
}

// or recognises a = 1 OR a = 2, which is a list; any other alternative is opaque.
func (s *shaper) or(x *ast.BinaryOperationExpr, inner []int) {
	var col *shape.ColumnRef
	var values []ast.ExprNode
	var same func(e ast.ExprNode) bool
	same = func(e ast.ExprNode) bool {
		b, ok := bare(e).(*ast.BinaryOperationExpr)
		if !ok {
			return false
		}
		if b.Op == opcode.LogicOr {
			return same(b.L) && same(b.R)
		}
		if b.Op != opcode.EQ {
			return false
		}
		c, ok := s.column(b.L)
		v := b.R
		if !ok {
			c, ok = s.column(b.R)
			v = b.L
		}
		if !ok || !constantIn(s, v) || col != nil && *col != c {
			return false
		}
		col = &c
		values = append(values, v)
		return true
	}
	if same(x) {
		s.add(shape.Predicate{Table: col.Table, Column: col.Column, Op: shape.In, Number: numeric(values...)}, inner)
		return
	}
	if len(inner) == 0 {
		s.Any = append(s.Any, s.branches(x, map[string]bool{}, nil))
	}
	s.opaque("OR")
}

func (s *shaper) compare(l, r ast.ExprNode, op shape.Op, inner []int) {
	lc, lok := s.column(l)
	rc, rok := s.column(r)
	switch {
	case lok && rok:
		if op == shape.Eq && (lc.Table != rc.Table || lc.Table == shape.Unresolved) {
			s.joined(lc, rc, inner)
			return
		}
		s.opaque("comparison of two columns")
	case lok && constantIn(s, r):
		s.add(shape.Predicate{Table: lc.Table, Column: lc.Column, Op: op, Number: numeric(r)}, inner)
	case rok && constantIn(s, l):
		s.add(shape.Predicate{Table: rc.Table, Column: rc.Column, Op: op, Number: numeric(l)}, inner)
	case lok || rok:
		if subqueryIn(s, l) || subqueryIn(s, r) {
			s.opaque("sub-query")
			return
		}
		s.opaque("comparison with an expression over columns")
	default:
		if subqueryIn(s, l) || subqueryIn(s, r) {
			s.opaque("sub-query")
		}
		s.wrapped(l, inner)
		s.wrapped(r, inner)
	}
}

// joined adds an equality of two columns, once for each side that can be looked up by it.
func (s *shaper) joined(a, b shape.ColumnRef, inner []int) {
	for range 2 {
		s.add(shape.Predicate{
			Table: a.Table, Column: a.Column, Op: shape.Eq, Join: true, OtherTable: b.Table,
			OtherColumn: b.Column,
		}, inner)
		a, b = b, a
	}
}

// numeric reports whether any of these is a number without quotes.
func numeric(es ...ast.ExprNode) bool {
	return slices.ContainsFunc(es, func(e ast.ExprNode) bool {
		v, ok := value(bare(e))
		return ok && v.Kind == shape.Number
	})
}

// single adds a predicate on e, which may be a column or something around one; values are what it is held against.
func (s *shaper) single(e ast.ExprNode, op shape.Op, inner []int, values ...ast.ExprNode) {
	if c, ok := s.column(e); ok {
		s.add(shape.Predicate{Table: c.Table, Column: c.Column, Op: op, Number: numeric(values...)}, inner)
		return
	}
	if _, ok := bare(e).(*ast.RowExpr); ok {
		s.opaque("comparison of rows")
		return
	}
	s.wrapped(e, inner)
}

// wrapped notes columns that an expression hides from an index.
func (s *shaper) wrapped(e ast.ExprNode, inner []int) {
	name := ""
	switch x := bare(e).(type) {
	case *ast.FuncCallExpr:
		name = x.FnName.L
	case *ast.FuncCastExpr:
		name = "cast"
	case *ast.BinaryOperationExpr, *ast.UnaryOperationExpr:
		name = "arithmetic"
	case *ast.CaseExpr:
		name = "case"
	case *ast.RowExpr:
		s.opaque("comparison of rows")
		return
	case *ast.SetCollationExpr:
		name = "collate"
	}
	for _, c := range columnsIn(s, e) {
		s.add(shape.Predicate{Table: c.Table, Column: c.Column, Op: shape.OtherOp, Func: name}, inner)
		if name != "" {
			s.opaque("function " + name + " around a column")
		}
	}
}

func (s *shaper) add(p shape.Predicate, inner []int) {
	if len(inner) > 0 {
		if !slices.Contains(inner, p.Table) {
			return // it does not select rows of the outer table
		}
		p.Outer = true
	}
	c := shape.ColumnRef{Table: p.Table, Column: p.Column}
	i, there := s.at[p]
	if !there {
		if s.at == nil {
			s.at = map[shape.Predicate]int{}
		}
		i = len(s.Predicates)
		s.at[p], s.Predicates = i, append(s.Predicates, p)
	}
	s.Predicates[i].Bounded = p.Op == shape.Range && s.upper[c] && s.lower[c]
}

func (s *shaper) order(o *ast.OrderByClause) {
	if o != nil {
		s.OrderBy = s.items(o.Items, "ORDER BY an expression")
	}
}

func (s *shaper) items(items []*ast.ByItem, why string) (out []shape.ColumnRef) {
	for _, it := range items {
		e := it.Expr
		if n, ok := bare(e).(*ast.ColumnNameExpr); ok && n.Name.Table.L == "" {
			if a, ok := s.aliases[n.Name.Name.L]; ok {
				e = a
			}
		}
		c, ok := s.column(e)
		if !ok {
			s.opaque(why)
			return nil
		}
		c.Desc = it.Desc
		out = append(out, c)
	}
	return out
}

// column returns the column that e is.
func (s *shaper) column(e ast.ExprNode) (shape.ColumnRef, bool) {
	n, ok := bare(e).(*ast.ColumnNameExpr)
	if !ok || s.outer(n.Name) {
		return shape.ColumnRef{}, false
	}
	return s.resolve(n.Name), true
}

func (s *shaper) resolve(n *ast.ColumnName) shape.ColumnRef {
	c := shape.ColumnRef{Table: shape.Unresolved, Column: n.Name.O}
	if n.Table.L == "" {
		if len(s.Tables) == 1 {
			c.Table = 0
		}
		return c
	}
	for _, i := range s.names.called(n.Table.L, s.Tables) {
		if t := s.Tables[i]; t.Alias != "" || n.Schema.L == "" || t.Schema == "" ||
			strings.ToLower(t.Schema) == n.Schema.L {
			c.Table = i
			break
		}
	}
	return c
}

// tablesByName finds tables by what their columns are qualified with.
type tablesByName struct {
	at       map[string][]int // in lower case
	numbered int              // how many tables are in at
}

// called returns the tables that a column may be qualified with a name, in lower case, as indexes of tables, of which
// the first stay the same. A statement of 64 KB asks for that a million times, for each column in each SELECT around.
func (x *tablesByName) called(name string, tables []shape.TableRef) []int {
	if x.at == nil {
		x.at = map[string][]int{}
	}
	for ; x.numbered < len(tables); x.numbered++ {
		by := strings.ToLower(cmp.Or(tables[x.numbered].Alias, tables[x.numbered].Name))
		x.at[by] = append(x.at[by], x.numbered)
	}
	return x.at[name]
}

// columnsIn returns the columns within e, outside of sub-queries.
func columnsIn(s *shaper, e ast.ExprNode) []shape.ColumnRef {
	v := &finder{s: s}
	if e != nil {
		e.Accept(v)
	}
	return v.cols
}

func subqueryIn(s *shaper, e ast.ExprNode) bool {
	v := &finder{s: s}
	e.Accept(v)
	return v.sub
}

// constantIn reports whether e has one value for the whole statement.
func constantIn(s *shaper, e ast.ExprNode) bool {
	v := &finder{s: s}
	e.Accept(v)
	return len(v.cols) == 0 && !v.sub && !v.varies
}

type finder struct {
	s         *shaper
	cols      []shape.ColumnRef
	seen      map[shape.ColumnRef]bool // those of cols
	sub       bool
	varies    bool
	aggregate bool
}

func (f *finder) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.ColumnNameExpr:
		if f.s.outer(n.Name) {
			f.s.Correlated = true
			return n, true
		}
		if c := f.s.resolve(n.Name); once(&f.seen, c) {
			f.cols = append(f.cols, c)
		}
		return n, true
	case *ast.SubqueryExpr:
		f.sub = true
		f.s.opaque("sub-query")
		return n, true
	case *ast.AggregateFuncExpr:
		f.aggregate = true
	case *ast.FuncCallExpr:
		switch n.FnName.L {
		case "rand", "uuid", "uuid_short", "sysdate", "sleep":
			f.varies = true
		}
	}
	return n, false
}

func (f *finder) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// bare removes parentheses.
func bare(e ast.ExprNode) ast.ExprNode {
	for {
		p, ok := e.(*ast.ParenthesesExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
