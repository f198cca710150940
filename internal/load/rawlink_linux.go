package load

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/wire"
	"github.com/dyno-perf/dyno/internal/workload"
)

// rawLink is a connection of a loop with its prepared statements. It never waits.
type rawLink struct {
	raw    *target.Raw
	fd     int
	plan   *workload.Plan
	stmts  []*wire.Stmt // nil where the text is sent
	reader wire.Reader
	out    []byte // the command under way
	sent   int    // of out
	args   []wire.Value
	row    []workload.Datum
	text   []byte
}

// dialRaw opens a connection and prepares the statements of the plan.
func dialRaw(ctx context.Context, t *target.Target, plan *workload.Plan, mode PSMode) (*rawLink, error) {
	raw, err := t.Raw(ctx, target.SessionOptions{Database: plan.Schema})
	switch {
	case errors.Is(err, target.ErrNeedsDriver):
		return nil, fmt.Errorf("%w: %w", errOtherWay, err)
	case err != nil:
		return nil, err
	}
	l := &rawLink{raw: raw, plan: plan, stmts: make([]*wire.Stmt, len(plan.Statements))}
	for i, st := range plan.Statements {
		if st.Text || mode == Disable {
			continue
		}
		if l.stmts[i], err = raw.Prepare(ctx, st.SQL); err != nil {
			raw.Close()
			return nil, fmt.Errorf("%s: %w", st.SQL, err)
		}
	}
	if l.fd, err = raw.Detach(); err != nil {
		raw.Close()
		return nil, err
	}
	l.reader.Reset(raw.Caps())
	return l, nil
}

// call makes the command for one statement ready.
func (l *rawLink) call(c *workload.Call) error {
	st := &l.plan.Statements[c.Statement]
	l.out, l.sent = l.out[:0], 0
	stmt := l.stmts[c.Statement]
	switch {
	case c.Text != nil:
		l.out = wire.AppendQuery(l.out, c.Text)
	case stmt != nil:
		if len(c.Args) != stmt.Params {
			return fmt.Errorf("execute: the statement takes %d values, %d were given", stmt.Params, len(c.Args))
		}
		l.args = l.args[:0]
		for i := range c.Args {
			a := &c.Args[i]
			l.args = append(l.args, wire.Value{Kind: kinds[a.Kind()], Bits: a.Bits(), Bytes: a.Raw()})
		}
		l.out = stmt.AppendExecute(l.out, l.args)
		l.reader.ExpectRows(stmt)
		return nil
	case len(c.Args) > 0:
		var err error
		if l.text, err = st.AppendText(l.text[:0], c.Args); err != nil {
			return err
		}
		l.out = wire.AppendQuery(l.out, l.text)
	default:
		l.out = wire.AppendQuery(l.out, st.SQL)
	}
	l.reader.ExpectText()
	return nil
}

// kinds are the wire's words for a Datum.
var kinds = [...]wire.Kind{
	workload.NullDatum: wire.Null, workload.IntDatum: wire.Int, workload.UintDatum: wire.Uint,
	workload.FloatDatum: wire.Float, workload.BytesDatum: wire.Bytes,
}

// rollback makes that command ready.
func (l *rawLink) rollback() {
	l.out, l.sent = wire.AppendQuery(l.out[:0], "ROLLBACK"), 0
	l.reader.ExpectText()
}

// flush sends what is left of the command. It reports whether all of it has gone.
func (l *rawLink) flush() (all bool, err error) {
	for l.sent < len(l.out) {
		n, err := send(l.fd, l.out[l.sent:])
		switch {
		case errors.Is(err, errAgain):
			return false, nil
		case err != nil:
			return false, l.raw.Wrap("send", err)
		}
		l.sent += n
	}
	return true, nil
}

// read takes what has arrived, into buf, and hands rows to gen. done says that the answer is complete; err is then that
// of the server, or says why the connection is of no more use. full says that there may be more to read.
func (l *rawLink) read(buf []byte, gen workload.Generator) (done, full bool, err error) {
	n, err := receive(l.fd, buf)
	switch {
	case err != nil && errors.Is(err, errAgain):
		return false, false, nil
	case err != nil:
		return true, false, l.raw.Wrap("receive", err)
	case n == 0:
		return true, false, l.raw.Wrap("receive", io.EOF)
	}
	l.reader.Feed(buf[:n])
	for {
		event, err := l.reader.Next()
		switch {
		case err != nil:
			return true, false, l.raw.Wrap("execute", err)
		case event == wire.More:
			return false, n == len(buf), nil
		case event == wire.Done:
			return true, false, nil
		}
		l.hand(gen)
	}
}

// silent reports whether nothing has arrived, not even the end of the connection.
func (l *rawLink) silent(buf []byte) bool {
	_, err := receive(l.fd, buf)
	return errors.Is(err, errAgain)
}

// hand passes the row on that the reader has found.
func (l *rawLink) hand(gen workload.Generator) {
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
