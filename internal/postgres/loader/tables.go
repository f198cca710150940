package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// existing returns the tables of the plan that an unqualified name finds, apart those that are no tables or have other
// columns.
func existing(
	ctx context.Context, t *conn.Target, c *pgx.Conn, plan *workload.Plan,
) (ours, foreign []schema.Ref, err error) {
	var names []string
	for _, tb := range plan.Tables {
		names = append(names, tb.Name)
	}
	rows, err := c.Query(ctx, `SELECT c.relname, c.relkind IN ('r', 'p'),
 ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
  ORDER BY attnum)
FROM pg_class c WHERE c.relname = ANY($1) AND pg_table_is_visible(c.oid) ORDER BY c.relname`, names)
	if err != nil {
		return nil, nil, t.Wrap("look for tables on", err)
	}
	var name string
	var table bool
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&name, &table, &columns}, func() error {
		at := slices.IndexFunc(plan.Tables, func(w workload.Table) bool { return w.Name == name })
		ref := schema.Ref{Schema: plan.Schema, Table: name}
		if table && slices.Equal(columns, plan.Tables[at].Columns) {
			ours = append(ours, ref)
		} else {
			foreign = append(foreign, ref)
		}
		return nil
	})
	return ours, foreign, t.Wrap("look for tables on", err)
}

// drop drops tables.
func drop(ctx context.Context, t *conn.Target, c *pgx.Conn, tables []schema.Ref) error {
	for _, r := range tables {
		if _, err := c.Exec(ctx, "DROP TABLE IF EXISTS "+conn.Quote(r.Table)); err != nil {
			return t.Wrap("drop table "+r.String()+" on", err)
		}
	}
	return nil
}

// Cleanup drops the tables of a workload. A table of the same name with other columns stays, and is an
// *load.ExistsError after all others have been dropped. It returns those dropped; the database stays.
func (s Server) Cleanup(ctx context.Context, d load.Data) ([]schema.Ref, error) {
	plan, err := s.plan("cleanup", d)
	if err != nil {
		return nil, err
	}
	dropped, err := s.cleanup(ctx, plan)
	if err != nil {
		err = fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	return dropped, err
}

func (s Server) cleanup(ctx context.Context, plan *workload.Plan) ([]schema.Ref, error) {
	c, err := s.T.ConnTo(ctx, conn.ForLoad, plan.Schema)
	if conn.KindOf(err) == endpoint.NoSuchDatabase {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.T.End(c)
	ours, foreign, err := existing(ctx, s.T, c, plan)
	if err != nil {
		return nil, err
	}
	if err := drop(ctx, s.T, c, ours); err != nil {
		return nil, err
	}
	if len(foreign) > 0 {
		return ours, &load.ExistsError{Tables: names(foreign), Foreign: true}
	}
	return ours, nil
}

func names(refs []schema.Ref) (list []string) {
	for _, r := range refs {
		list = append(list, r.String())
	}
	return list
}

// size says what is known of a table's rows against those asked for, "" when nothing is.
func size(ctx context.Context, c *pgx.Conn, tb *workload.Table) string {
	switch largest, ok := largest(ctx, c, tb); {
	case !ok:
		return ""
	case largest == int64(tb.Rows):
		return fmt.Sprintf("with the %d rows asked for", tb.Rows)
	default:
		return fmt.Sprintf("with %d rows, %d are asked for", largest, tb.Rows)
	}
}

// largest returns the largest number of a row, 0 without rows; not ok when it cannot be read.
func largest(ctx context.Context, c *pgx.Conn, tb *workload.Table) (n int64, ok bool) {
	if tb.Key == "" {
		return 0, false
	}
	err := c.QueryRow(ctx, "SELECT coalesce(max("+conn.Quote(tb.Key)+"), 0) FROM "+conn.Quote(tb.Name)).Scan(&n)
	return n, err == nil
}

func quoted(columns []string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = conn.Quote(c)
	}
	return strings.Join(list, ", ")
}
