package load

import (
	"context"
	"database/sql/driver"
	"fmt"

	"dyno/internal/target"
	"dyno/internal/workload"
)

// link is a session's connection with its prepared statements.
type link struct {
	session *target.Session
	plan    *workload.Plan
	stmts   []*target.Stmt // nil where the text is sent
	args    []driver.Value
	text    []byte
}

// dial opens a connection and prepares the statements of the plan.
func dial(ctx context.Context, t *target.Target, plan *workload.Plan, mode PSMode) (*link, error) {
	s, err := t.Session(ctx, target.SessionOptions{Database: plan.Schema})
	if err != nil {
		return nil, err
	}
	l := &link{session: s, plan: plan, stmts: make([]*target.Stmt, len(plan.Statements))}
	if mode == Disable {
		return l, nil
	}
	for i, st := range plan.Statements {
		if st.Text {
			continue
		}
		if l.stmts[i], err = s.Prepare(ctx, st.SQL); err != nil {
			l.close()
			return nil, fmt.Errorf("%s: %w", st.SQL, err)
		}
	}
	return l, nil
}

// call executes one statement and reads all of its answer.
func (l *link) call(ctx context.Context, c workload.Call) error {
	st := &l.plan.Statements[c.Statement]
	if stmt := l.stmts[c.Statement]; stmt != nil {
		l.args = l.args[:0]
		for _, a := range c.Args {
			l.args = append(l.args, a)
		}
		if st.Rows {
			_, err := stmt.Query(ctx, l.args, nil)
			return err
		}
		_, err := stmt.Exec(ctx, l.args)
		return err
	}
	sql := st.SQL
	if len(c.Args) > 0 {
		var err error
		if l.text, err = st.AppendText(l.text[:0], c.Args); err != nil {
			return err
		}
		sql = string(l.text)
	}
	return l.send(ctx, sql, st.Rows)
}

// send executes a text that is no statement of the plan.
func (l *link) send(ctx context.Context, sql string, rows bool) error {
	if rows {
		_, err := l.session.Query(ctx, sql, nil)
		return err
	}
	_, err := l.session.Exec(ctx, sql)
	return err
}

func (l *link) id() uint64 { return l.session.ID() }

func (l *link) close() { l.session.Close() }
