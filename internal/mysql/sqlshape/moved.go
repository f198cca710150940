package sqlshape

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/dyno-perf/dyno/internal/shape"
)

// Moved returns the columns of its one table that an UPDATE gives another value, as far as its text tells: those that
// it assigns, without those that it sets to themselves or to what its condition asks them to be already. Programs that
// write back every column of a row keep its key that way. Between two parameters, whose values are not known, the value
// counts as kept. It is empty for other statements and for an UPDATE of several tables.
func Moved(sql string) ([]string, error) {
	n, _, err := parseAny(sql)
	if err != nil {
		return nil, err
	}
	u, ok := n.(*ast.UpdateStmt)
	if !ok {
		return nil, nil
	}
	s, comparisons, err := compared(n)
	if err != nil || len(s.Tables) != 1 {
		return nil, err
	}
	c := &comparer{s: &shaper{Shape: s}}
	var out []string
	for _, a := range u.List {
		name := a.Column.Name.O
		set, _ := c.operand(a.Expr)
		kept := set.Kind == shape.Column && strings.EqualFold(set.Column, name)
		for _, x := range comparisons {
			if (x.Op == "=" || x.Op == "<=>") && x.Left.Kind == shape.Column && strings.EqualFold(x.Left.Column, name) {
				kept = kept || same(set, x.Right[0])
			}
		}
		if !kept {
			out = append(out, name)
		}
	}
	return out, nil
}

// same reports whether two operands hold the same value or may hold it.
func same(a, b shape.Operand) bool {
	unknown := func(o shape.Operand) bool { return o.Kind == shape.Parameter || o.Kind == shape.Anything }
	literal := func(o shape.Operand) bool { return o.Kind == shape.Number || o.Kind == shape.Text }
	return unknown(a) || unknown(b) || literal(a) && literal(b) && a.Value == b.Value
}
