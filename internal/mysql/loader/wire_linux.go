package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/internal/workload"
)

// rawSession speaks MySQL's protocol for a loop.
type rawSession struct {
	*target.Raw
	plan   *workload.Plan
	stmts  []*wire.Stmt // nil where the text is sent
	reader wire.Reader
	args   []wire.Value
	row    []workload.Datum
	text   []byte
}

// DialWire opens a connection and prepares the statements of the plan.
func (s Server) DialWire(ctx context.Context, plan *workload.Plan, mode load.PSMode) (load.Wire, error) {
	raw, err := s.T.Raw(ctx, target.SessionOptions{Database: plan.Schema})
	switch {
	case errors.Is(err, target.ErrNeedsDriver):
		return nil, fmt.Errorf("%w: %w", load.ErrOtherWay, err)
	case err != nil:
		return nil, err
	}
	l := &rawSession{Raw: raw, plan: plan, stmts: make([]*wire.Stmt, len(plan.Statements))}
	for i, st := range plan.Statements {
		if st.Text || mode == load.Disable {
			continue
		}
		if l.stmts[i], err = raw.Prepare(ctx, st.SQL); err != nil {
			raw.Close()
			return nil, fmt.Errorf("%s: %w", st.SQL, err)
		}
	}
	if _, err = raw.Detach(); err != nil {
		raw.Close()
		return nil, err
	}
	l.reader.Reset(raw.Caps())
	return l, nil
}

// AppendCall appends the command for one statement.
func (l *rawSession) AppendCall(out []byte, c *workload.Call) ([]byte, error) {
	st := &l.plan.Statements[c.Statement]
	stmt := l.stmts[c.Statement]
	switch {
	case c.Text != nil:
		out = wire.AppendQuery(out, c.Text)
	case stmt != nil:
		if len(c.Args) != stmt.Params {
			return out, fmt.Errorf("execute: the statement takes %d values, %d were given", stmt.Params, len(c.Args))
		}
		l.args = l.args[:0]
		for i := range c.Args {
			a := &c.Args[i]
			l.args = append(l.args, wire.Value{Kind: kinds[a.Kind()], Bits: a.Bits(), Bytes: a.Raw()})
		}
		out = stmt.AppendExecute(out, l.args)
		l.reader.ExpectRows(stmt)
		return out, nil
	case len(c.Args) > 0:
		var err error
		if l.text, err = st.AppendText(l.text[:0], c.Args); err != nil {
			return out, err
		}
		out = wire.AppendQuery(out, l.text)
	default:
		out = wire.AppendQuery(out, st.SQL)
	}
	l.reader.ExpectText()
	return out, nil
}

// kinds are the wire's words for a Datum.
var kinds = [...]wire.Kind{
	workload.NullDatum: wire.Null, workload.IntDatum: wire.Int, workload.UintDatum: wire.Uint,
	workload.FloatDatum: wire.Float, workload.BytesDatum: wire.Bytes,
}

// AppendText appends the command for a text.
func (l *rawSession) AppendText(out []byte, sql string) []byte {
	l.reader.ExpectText()
	return wire.AppendQuery(out, sql)
}

// Feed gives the reader what has arrived.
func (l *rawSession) Feed(b []byte) { l.reader.Feed(b) }

// Next goes through it.
func (l *rawSession) Next(gen workload.Generator) (done bool, err error) {
	for {
		event, err := l.reader.Next()
		switch {
		case err != nil:
			return true, err
		case event == wire.More:
			return false, nil
		case event == wire.Done:
			return true, nil
		}
		l.hand(gen)
	}
}

// hand passes the row on that the reader has found.
func (l *rawSession) hand(gen workload.Generator) {
	l.row = l.row[:0]
	for _, v := range l.reader.Row() {
		var d workload.Datum
		switch v.Kind {
		case wire.Int:
			d = workload.Int(int64(v.Bits))
		case wire.Uint:
			d = workload.Uint(v.Bits)
		case wire.Float:
			d = workload.Float(v.Float())
		case wire.Bytes:
			d = workload.Bytes(v.Bytes)
		case wire.Null:
		}
		l.row = append(l.row, d)
	}
	gen.Row(l.row)
}
