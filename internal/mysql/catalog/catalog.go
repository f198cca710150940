package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Querier asks a server: *sql.DB and *sql.Conn do.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// mostVariables is ten times what any server has, plugins and all; mostOfVariables bounds their names and values,
// bytes.
const (
	mostVariables   = 20_000
	mostOfVariables = 4 << 20
)

// Variables returns the global variables, names in lower case.
func Variables(ctx context.Context, q Querier) (map[string]string, error) {
	m, bytes := map[string]string{}, 0
	err := each(ctx, q, "SHOW GLOBAL VARIABLES", nil, func(r row) {
		if bytes += len(r.text(0)) + len(r.text(1)); len(m) < mostVariables && bytes <= mostOfVariables {
			m[strings.ToLower(r.text(0))] = r.text(1)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read variables: %w", err)
	}
	return m, nil
}

// Find returns the schemas that hold a table or view of that name, the server's own schemas left out. It reads the
// dictionary only, but of all schemas: use it for names of which the schema is not known, not in a loop.
func Find(ctx context.Context, q Querier, table string) ([]schema.Ref, error) {
	var found []schema.Ref
	err := each(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = ?"+
		" AND TABLE_SCHEMA NOT IN ('information_schema','performance_schema','mysql','sys') ORDER BY TABLE_SCHEMA, "+
		"TABLE_NAME", []any{table},
		func(r row) {
			ref := schema.Ref{Schema: r.text(0), Table: r.text(1)}
			if strings.EqualFold(ref.Table, table) && len(found) < mostNames { // the collation equates more: a and ä
				found = append(found, ref)
			}
		})
	if err != nil {
		return nil, fmt.Errorf("find table %s: %w", table, err)
	}
	return found, nil
}

// errLong says that a server has more to say of some tables than is read.
var errLong = errors.New("what the server says of the table is too long")

// some is each for an answer of so many rows at most, or errLong.
func some(ctx context.Context, q Querier, most int, query string, args []any, f func(row)) error {
	n := 0
	err := each(ctx, q, query+" LIMIT "+strconv.Itoa(most), args, func(r row) {
		if n++; n <= most {
			f(r)
		}
	})
	if err == nil && n >= most {
		return errLong
	}
	return err
}

// row is one row of text.
type row []sql.NullString

func (r row) text(i int) string { return r[i].String }
func (r row) null(i int) bool   { return !r[i].Valid }

// each runs a question marked as Dyno's own and hands over its rows; a row is valid only during the call.
func each(ctx context.Context, q Querier, query string, args []any, f func(row)) error {
	rows, err := q.QueryContext(ctx, sqltext.Tagged("catalog", "", query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	r, dest := make(row, len(cols)), make([]any, len(cols))
	for i := range r {
		dest[i] = &r[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := guard.Shaped(func() error { f(r); return nil }); err != nil {
			return err
		}
	}
	return rows.Err()
}
