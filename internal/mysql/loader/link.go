package loader

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

// link is a session's connection with its prepared statements.
type link struct {
	session *target.Session
	plan    *workload.Plan
	stmts   []*target.Stmt // nil where the text is sent
	args    []driver.Value
	text    []byte
	row     func([]workload.Datum) // of the call under way
	data    []workload.Datum
}

// dial opens a connection and prepares the statements of the plan.
func dial(ctx context.Context, t *target.Target, plan *workload.Plan, mode load.PSMode) (*link, error) {
	s, err := t.Session(ctx, target.SessionOptions{Database: plan.Schema, Unbounded: true})
	if err != nil {
		return nil, err
	}
	l := &link{session: s, plan: plan, stmts: make([]*target.Stmt, len(plan.Statements))}
	if mode == load.Disable {
		return l, nil
	}
	for i, st := range plan.Statements {
		if st.Text {
			continue
		}
		if l.stmts[i], err = s.Prepare(ctx, st.SQL); err != nil {
			l.Close()
			return nil, fmt.Errorf("%s: %w", st.SQL, err)
		}
	}
	return l, nil
}

// Call executes one statement and reads all of its answer.
func (l *link) Call(ctx context.Context, c *workload.Call, row func([]workload.Datum)) error {
	st := &l.plan.Statements[c.Statement]
	l.row = row
	if stmt := l.stmts[c.Statement]; stmt != nil && c.Text == nil {
		l.args = l.args[:0]
		for _, a := range c.Args {
			l.args = append(l.args, value(a))
		}
		if st.Rows {
			_, err := stmt.Query(ctx, l.args, l.take)
			return err
		}
		_, err := stmt.Exec(ctx, l.args)
		return err
	}
	sql := st.SQL
	if c.Text != nil {
		sql = string(c.Text)
	} else if len(c.Args) > 0 {
		var err error
		if l.text, err = st.AppendText(l.text[:0], c.Args); err != nil {
			return err
		}
		sql = string(l.text)
	}
	return l.send(ctx, sql, st.Rows)
}

// value returns a as the driver takes it.
func value(a workload.Datum) driver.Value {
	switch a.Kind() {
	case workload.IntDatum:
		return int64(a.Bits())
	case workload.UintDatum:
		return a.Bits()
	case workload.FloatDatum:
		return math.Float64frombits(a.Bits())
	case workload.BytesDatum:
		return a.Raw()
	case workload.NullDatum:
	}
	return nil
}

// take hands a row of the driver on.
func (l *link) take(row []driver.Value) {
	l.data = l.data[:0]
	for _, v := range row {
		var d workload.Datum
		switch v := v.(type) {
		case int64:
			d = workload.Int(v)
		case uint64:
			d = workload.Uint(v)
		case float32:
			d = workload.Float(float64(v))
		case float64:
			d = workload.Float(v)
		case []byte:
			d = workload.Bytes(v)
		case string:
			d = workload.String(v)
		}
		l.data = append(l.data, d)
	}
	if l.row != nil {
		l.row(l.data)
	}
}

// send executes a text.
func (l *link) send(ctx context.Context, sql string, rows bool) error {
	if rows {
		_, err := l.session.Query(ctx, sql, l.take)
		return err
	}
	_, err := l.session.Exec(ctx, sql)
	return err
}

// Send executes a text that answers with no rows.
func (l *link) Send(ctx context.Context, sql string) error { return l.send(ctx, sql, false) }

// ID returns the server's number of the connection.
func (l *link) ID() uint64 { return l.session.ID() }

// Close ends the connection.
func (l *link) Close() { l.session.Close() }
