package loader

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"

	"golang.org/x/sync/errgroup"
)

// examples bounds how much of a violation is read: tables that are another workload's violate a condition in every row.
const examples = 3

// verifiers bounds the connections: they are those of the target's pool.
const verifiers = 4

// Verify checks the conditions of a workload's tables, several at the same time on up to d.Threads connections, and
// returns those that do not hold in the order of the plan. It only reads. Each condition is one statement, which sees
// one state of the tables, so that a load may be running.
func (s Server) Verify(ctx context.Context, d load.Data, sink progress.Sink) ([]load.Violation, error) {
	plan, err := d.Plan("check")
	if err != nil {
		return nil, err
	}
	if len(plan.Checks) == 0 {
		return nil, fmt.Errorf("check %s: %w", plan.Workload, load.ErrNoChecks)
	}
	found := make([]*load.Violation, len(plan.Checks))
	report := &load.Reporter{Sink: sink}
	report.Begin("checking conditions", "conditions", len(plan.Checks))
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for range min(max(1, d.Threads), verifiers, len(plan.Checks)) {
		g.Go(func() error {
			v, err := newVerifier(gctx, s.T, plan.Schema)
			if err != nil {
				return err
			}
			defer v.close(gctx)
			for {
				// the last ones take longest: begun first, they are not waited for alone
				i := len(found) - int(next.Add(1))
				if i < 0 {
					return nil
				}
				if found[i], err = v.check(gctx, plan.Checks[i]); err != nil {
					return fmt.Errorf("condition %s: %w", plan.Checks[i].Name, err)
				}
				report.Add(1)
			}
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("check %s: %w", plan.Workload, explain(err, plan))
	}
	report.End()
	var out []load.Violation
	for _, v := range found {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out, nil
}

// sums bounds the memory for a temporary table of one condition: those of ten warehouses fit, and a small server is not
// driven out of its own.
const sums = 64 << 20

// verifier is a connection that checks conditions.
type verifier struct {
	t    *target.Target
	conn *sql.Conn
	id   uint64
}

func newVerifier(ctx context.Context, t *target.Target, database string) (*verifier, error) {
	conn, err := t.Conn(ctx)
	if err != nil {
		return nil, err
	}
	v := &verifier{t: t, conn: conn}
	err = conn.QueryRowContext(ctx, sqltext.Tagged("check", "", "SELECT CONNECTION_ID()")).Scan(&v.id)
	for _, q := range []string{
		"USE " + ddl.Quote(database),
		fmt.Sprintf("SET SESSION sql_select_limit = %d", examples+1),
		fmt.Sprintf("SET SESSION tmp_table_size = %d", sums),
		fmt.Sprintf("SET SESSION max_heap_table_size = %d", sums),
		// less would read rows of different moments, more would lock them
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
	} {
		if err == nil {
			_, err = conn.ExecContext(ctx, sqltext.Tagged("check", "", q))
		}
	}
	if err != nil {
		v.close(ctx)
		return nil, t.Wrap("set up a check on", err)
	}
	return v, nil
}

// close ends the connection for good, for its settings are no longer those of the pool.
func (v *verifier) close(ctx context.Context) {
	_ = v.conn.Raw(func(any) error { return driver.ErrBadConn })
	if ctx.Err() != nil && v.id != 0 { // the server would go on with what it is at
		kctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
		defer cancel()
		kill(kctx, v.t, v.id)
	}
}

// check returns what violates a condition, nil when it holds.
func (v *verifier) check(ctx context.Context, c workload.Check) (*load.Violation, error) {
	rows, err := v.conn.QueryContext(ctx, sqltext.Tagged("check", "", c.SQL))
	if err != nil {
		return nil, v.t.Wrap("read", err)
	}
	defer rows.Close()
	x := &load.Violation{Check: c}
	if x.Columns, err = rows.Columns(); err != nil {
		return nil, v.t.Wrap("read", err)
	}
	for rows.Next() {
		if x.More = len(x.Rows) == examples; x.More {
			break
		}
		values := make([]sql.NullString, len(x.Columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, v.t.Wrap("read", err)
		}
		row := make([]string, len(values))
		for i, s := range values {
			if row[i] = s.String; !s.Valid {
				row[i] = "NULL"
			}
		}
		x.Rows = append(x.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return nil, v.t.Wrap("read", err)
	}
	if len(x.Rows) == 0 {
		return nil, nil
	}
	return x, nil
}
