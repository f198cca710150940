package sqlshape

import (
	"errors"
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/dyno-perf/dyno/internal/shape"
)

// mostNames is how many tables a statement may name to be of interest: servers join 61 at most.
// https://dev.mysql.com/doc/refman/9.7/en/join.html
const mostNames = 64

// ErrTooManyTables is returned with the first tables of a statement that names more than mostNames.
var ErrTooManyTables = errors.New("it names too many tables")

// Touches returns the tables and views that a statement names anywhere, those of its sub-queries included, each once
// and in order. A name that WITH defines is among them: a table may have it too, elsewhere in the statement.
func Touches(sql string) ([]shape.TableRef, error) {
	n, err := parseOne(sql)
	if err != nil {
		return nil, err
	}
	t := &touched{}
	n.Accept(t)
	return t.list, t.err
}

// Opened returns the tables and views that a server opens for a statement, each once: Touches without the names that
// stand for what WITH defines at the begin of the statement, and without the list before the FROM of a DELETE, which
// repeats some by alias.
func Opened(sql string) ([]shape.TableRef, error) {
	n, err := parseOne(sql)
	if err != nil {
		return nil, err
	}
	var with *ast.WithClause
	switch n := n.(type) {
	case *ast.SelectStmt:
		with, n.With = n.With, nil
	case *ast.SetOprStmt:
		with, n.With = n.With, nil
	case *ast.UpdateStmt:
		with, n.With = n.With, nil
	case *ast.DeleteStmt:
		with, n.With, n.Tables = n.With, nil, nil
	}
	t := &touched{}
	var defined []string
	if with != nil { // each may name those before it, and itself when it is recursive
		for _, x := range with.CTEs {
			if with.IsRecursive {
				defined = append(defined, x.Name.O)
			}
			t.except(x.Query, defined)
			if !with.IsRecursive {
				defined = append(defined, x.Name.O)
			}
		}
	}
	t.except(n, defined)
	return t.list, t.err
}

// except adds what a part of a statement touches, but for names that are defined.
func (t *touched) except(n ast.Node, defined []string) {
	if t.err != nil {
		return
	}
	part := &touched{}
	n.Accept(part)
	for _, r := range part.list {
		if r.Schema != "" || !slices.Contains(defined, r.Name) {
			t.add(r)
		}
	}
	if part.err != nil {
		t.err = part.err
	}
}

type touched struct {
	list []shape.TableRef
	err  error // ErrTooManyTables
}

func (t *touched) add(r shape.TableRef) {
	switch {
	case slices.Contains(t.list, r):
	case len(t.list) == mostNames:
		t.err = ErrTooManyTables
	default:
		t.list = append(t.list, r)
	}
}

func (t *touched) Enter(n ast.Node) (ast.Node, bool) {
	if x, ok := n.(*ast.TableName); ok {
		t.add(shape.TableRef{Schema: x.Schema.O, Name: x.Name.O})
	}
	return n, t.err != nil
}

func (t *touched) Leave(n ast.Node) (ast.Node, bool) { return n, t.err == nil }

// Reads reports whether a statement is a SELECT, or a UNION of them, that locks no row anywhere: one that a READ ONLY
// transaction takes.
func Reads(sql string) bool {
	n, err := parseOne(sql)
	if err != nil {
		return false
	}
	switch n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
	default:
		return false
	}
	r := &reading{}
	n.Accept(r)
	return !r.locks
}

type reading struct{ locks bool }

func (r *reading) Enter(n ast.Node) (ast.Node, bool) {
	if x, ok := n.(*ast.SelectStmt); ok && x.LockInfo != nil && x.LockInfo.LockType != ast.SelectLockNone {
		r.locks = true
	}
	return n, r.locks
}

func (r *reading) Leave(n ast.Node) (ast.Node, bool) { return n, true }
