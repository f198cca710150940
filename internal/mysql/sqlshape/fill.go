package sqlshape

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	driver "github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/dyno-perf/dyno/internal/shape"
)

// Fill replaces every ? of a statement by a literal, so that EXPLAIN takes it. valueFor gives the literal, quoted where
// it must be, for a marker that is held against a column; table and column are "" where the marker stands by itself,
// and table is "" for a column of a statement with several tables that was named without its own. A marker in LIMIT
// becomes 10. It fails for what cannot be parsed and for a fingerprint whose names lost their digits.
func Fill(sql string, valueFor func(table, column string) string) (string, error) {
	n, text, err := parseAny(sql)
	if err != nil {
		return "", fmt.Errorf("fill statement: %w", err)
	}
	s := &shaper{}
	if s.statement(n); s.err() != nil {
		return "", fmt.Errorf("fill statement: %w", s.err())
	}
	f := &filler{s: s, valueFor: valueFor, at: map[int]string{}}
	n.Accept(f)
	if f.lost {
		return "", errors.New("fill statement: a name lost its digits in the fingerprint: an example of the " +
			"statement is needed")
	}
	offsets := make([]int, 0, len(f.at))
	for o := range f.at {
		offsets = append(offsets, o)
	}
	sort.Ints(offsets)
	var b strings.Builder
	done := 0
	for _, o := range offsets {
		if o < done || o >= len(text) || text[o] != '?' {
			return "", errors.New("fill statement: a marker is not where the parser says")
		}
		b.WriteString(text[done:o])
		b.WriteString(f.at[o])
		done = o + 1
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

type filler struct {
	s        *shaper
	valueFor func(table, column string) string
	at       map[int]string // offset of a marker → its literal
	lost     bool
}

func (f *filler) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.BinaryOperationExpr:
		f.against(n.L, n.R)
		f.against(n.R, n.L)
	case *ast.PatternInExpr:
		for _, v := range n.List {
			f.against(n.Expr, v)
		}
	case *ast.BetweenExpr:
		f.against(n.Expr, n.Left)
		f.against(n.Expr, n.Right)
	case *ast.PatternLikeOrIlikeExpr:
		f.against(n.Expr, n.Pattern)
	case *ast.Assignment:
		f.put(n.Expr, shape.ColumnRef{Column: n.Column.Name.O, Table: f.s.resolve(n.Column).Table})
	case *ast.Limit:
		for _, e := range []ast.ExprNode{n.Count, n.Offset} {
			if m, ok := e.(*driver.ParamMarkerExpr); ok {
				f.at[m.Offset] = "10"
			}
		}
	case *ast.TableName:
		f.lost = f.lost || strings.Contains(n.Name.O+n.Schema.O, "?")
	case *ast.ColumnName:
		f.lost = f.lost || strings.Contains(n.Name.O, "?")
	case *driver.ParamMarkerExpr:
		if _, ok := f.at[n.Offset]; !ok {
			f.at[n.Offset] = f.valueFor("", "")
		}
	}
	return n, false
}

func (f *filler) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func (f *filler) against(col, v ast.ExprNode) {
	if c, ok := f.s.column(col); ok {
		f.put(v, c)
	}
}

func (f *filler) put(v ast.ExprNode, c shape.ColumnRef) {
	m, ok := bare(v).(*driver.ParamMarkerExpr)
	if !ok {
		return
	}
	table := ""
	if c.Table >= 0 {
		table = f.s.Tables[c.Table].Name
	}
	f.at[m.Offset] = f.valueFor(table, c.Column)
}
