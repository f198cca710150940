package sqlshape

import (
	"fmt"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/dyno-perf/dyno/internal/shape"
)

// parts fills in Parts and Reads: every SELECT within the statement n gets a shape of its own, which knows the tables
// of those around it.
func (s *shaper) parts(n ast.StmtNode) {
	w := &partWalk{root: s, stack: []*shaper{s}, roles: map[ast.Node]shape.Role{}, in: map[ast.Node]bool{}}
	if sel, ok := n.(*ast.SelectStmt); ok {
		w.own = sel
	}
	n.Accept(w)
	for _, x := range w.found {
		s.Parts = append(s.Parts, x.Shape)
		s.excess = s.excess || x.err() != nil
	}
}

type partWalk struct {
	root  *shaper
	own   *ast.SelectStmt // the statement itself
	stack []*shaper
	found []*shaper
	roles map[ast.Node]shape.Role
	in    map[ast.Node]bool // what IN asks for values
}

func (w *partWalk) Enter(n ast.Node) (ast.Node, bool) {
	top := w.stack[len(w.stack)-1]
	switch n := n.(type) {
	case *ast.SelectStmt:
		if n == w.own {
			return n, false
		}
		x := &shaper{parent: top}
		w.stack = append(w.stack, x)
		if w.root.excess = w.root.excess || len(w.found) == mostParts || len(w.stack) > mostLevels; w.root.excess {
			return n, true
		}
		x.Kind, x.Role = shape.Select, shape.Subquery
		if r, ok := w.roles[n]; ok {
			x.Role = r
		}
		x.selectStmt(n)
		// A server may ask such a part row by row, with one value at a time.
		if w.in[n] && n.Fields != nil && len(n.Fields.Fields) == 1 {
			if c, ok := x.column(n.Fields.Fields[0].Expr); ok {
				x.add(shape.Predicate{
					Table: c.Table, Column: c.Column, Op: shape.Eq, Join: true, OtherTable: shape.Unresolved,
				}, noTable)
			}
		}
		w.found = append(w.found, x)
	case *ast.SetOprStmt:
		for _, b := range n.SelectList.Selects {
			w.roles[b] = shape.Union
		}
	case *ast.TableSource:
		w.roles[n.Source] = shape.Derived
	case *ast.CommonTableExpression:
		if n.Query != nil {
			w.roles[n.Query.Query] = shape.Derived
		}
	case *ast.InsertStmt:
		if n.Select != nil {
			w.roles[n.Select] = shape.Source
		}
	case *ast.PatternInExpr:
		if sub, ok := n.Sel.(*ast.SubqueryExpr); ok && !n.Not {
			w.in[sub.Query] = true
		}
	case *ast.ColumnName:
		if !top.outer(n) {
			top.read(top.resolve(n))
		}
	}
	return n, false
}

func (w *partWalk) Leave(n ast.Node) (ast.Node, bool) {
	if sel, ok := n.(*ast.SelectStmt); ok && sel != w.own {
		w.stack = w.stack[:len(w.stack)-1]
	}
	return n, true
}

func (s *shaper) read(c shape.ColumnRef) {
	if once(&s.reads, c) {
		s.Reads = append(s.Reads, c)
	}
}

// outer reports whether a name means a column of what this part stands in: it names a table that only that has.
func (s *shaper) outer(n *ast.ColumnName) bool {
	if s.parent == nil || n.Table.L == "" || s.resolve(n).Table != shape.Unresolved {
		return false
	}
	for p := s.parent; p != nil; p = p.parent {
		if p.resolve(n).Table != shape.Unresolved {
			return true
		}
	}
	return false
}

// definedIn reports whether WITH, here or around, defines a table of the name.
func definedIn(s *shaper, name string) bool {
	for p := s; p != nil; p = p.parent {
		if p.named[name] {
			return true
		}
	}
	return false
}

// branches reads the alternatives of an OR, each with the predicates that it connects by AND, equal ones once.
func (s *shaper) branches(e ast.ExprNode, seen map[string]bool, out []shape.Branch) []shape.Branch {
	if x, ok := bare(e).(*ast.BinaryOperationExpr); ok && x.Op == opcode.LogicOr {
		return s.branches(x.R, seen, s.branches(x.L, seen, out))
	}
	b := &shaper{parent: s.parent, named: s.named, names: s.names}
	b.Tables = s.Tables
	b.where(e, noTable)
	if !once(&seen, fmt.Sprintf("%+v", b.Predicates)) {
		return out
	}
	s.ored += len(b.Predicates)
	return append(out, b.Predicates)
}

// bound notes which side of a column's range a comparison bounds.
func (s *shaper) bound(x *ast.BinaryOperationExpr) {
	less := x.Op == opcode.LT || x.Op == opcode.LE
	if c, ok := s.column(x.L); ok {
		s.bounds(c, !less, less)
	} else if c, ok := s.column(x.R); ok {
		s.bounds(c, less, !less)
	}
}

func (s *shaper) bounds(c shape.ColumnRef, lower, upper bool) {
	if s.upper == nil {
		s.upper, s.lower = map[shape.ColumnRef]bool{}, map[shape.ColumnRef]bool{}
	}
	s.upper[c] = s.upper[c] || upper
	s.lower[c] = s.lower[c] || lower
}
