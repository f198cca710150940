package loader

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/workload"
)

// session is one connection of a run with its prepared statements.
type session struct {
	t      *conn.Target
	conn   *pgx.Conn
	pg     *pgconn.PgConn
	plan   *workload.Plan
	stmts  []*pgconn.StatementDescription // nil where the text is sent
	unhook func() bool

	args [][]byte
	buf  []byte // of args
	text []byte
	data []workload.Datum
}

// ctx is that of all calls of the driver: another context costs a goroutine a call. A session breaks when its socket
// is closed.
var ctx = context.Background()

// Dial opens a session and prepares the statements of the plan.
func (s sessions) Dial(hard context.Context, plan *workload.Plan, mode load.PSMode) (load.Session, error) {
	x, err := s.dial(hard, plan, mode)
	if err != nil {
		return nil, err // never a nil *session in the interface
	}
	return x, nil
}

var fromStdin = lazyregexp.New(`(?is)^COPY\s.*\sFROM\s+STDIN\b`)

func (s sessions) dial(hard context.Context, plan *workload.Plan, mode load.PSMode) (*session, error) {
	for i := range plan.Statements {
		if sql := plan.Statements[i].SQL; fromStdin.MatchString(sql) { // the driver would wait for ever
			return nil, fmt.Errorf("%s: %w", sql, errCopy)
		}
	}
	c, err := s.t.ConnTo(hard, conn.ForLoad, plan.Schema)
	if err != nil {
		return nil, err
	}
	x := &session{
		t: s.t, conn: c, pg: c.PgConn(), plan: plan, stmts: make([]*pgconn.StatementDescription, len(plan.Statements)),
		buf: make([]byte, 0, 256), // an empty text is not NULL
	}
	x.unhook = context.AfterFunc(hard, func() { _ = x.pg.Conn().Close() })
	if mode == load.Disable {
		return x, nil
	}
	for i := range plan.Statements {
		st := &plan.Statements[i]
		if st.Text {
			continue
		}
		if x.stmts[i], err = x.pg.Prepare(ctx, "s"+strconv.Itoa(i), st.Numbered(), nil); err != nil {
			x.Close()
			return nil, fmt.Errorf("%s: %w", st.SQL, s.t.Wrap("prepare on", err))
		}
	}
	return x, nil
}

// Call executes one statement and reads all of its answer. Arguments and answers go in text format, so that a
// parameter may have any type that the server finds for it.
func (x *session) Call(_ context.Context, c *workload.Call, row func([]workload.Datum)) error {
	st := &x.plan.Statements[c.Statement]
	if stmt := x.stmts[c.Statement]; stmt != nil && c.Text == nil {
		x.bind(c.Args)
		return x.read(x.pg.ExecStatement(ctx, stmt, x.args, nil, nil), row)
	}
	switch {
	case c.Text != nil:
		return x.simple(string(c.Text), row)
	case len(c.Args) > 0:
		var err error
		if x.text, err = st.AppendTextIn(workload.PostgreSQL, x.text[:0], c.Args); err != nil {
			return err
		}
		return x.simple(string(x.text), row)
	}
	return x.simple(st.SQL, row)
}

// Send executes a text and drops the rows of its answer.
func (x *session) Send(_ context.Context, sql string) error { return x.simple(sql, nil) }

// ID returns the process id of the server's process.
func (x *session) ID() uint64 { return uint64(x.pg.PID()) }

// Close ends the connection.
func (x *session) Close() {
	x.unhook()
	x.t.End(x.conn)
}

// bind writes the arguments as the server reads them.
func (x *session) bind(args []workload.Datum) {
	x.args, x.buf = x.args[:0], x.buf[:0]
	for _, a := range args {
		if a.IsNull() {
			x.args = append(x.args, nil)
			continue
		}
		from := len(x.buf)
		x.buf = appendValue(x.buf, a)
		x.args = append(x.args, x.buf[from:len(x.buf):len(x.buf)])
	}
}

// simple sends a text by the simple protocol.
func (x *session) simple(sql string, row func([]workload.Datum)) error {
	all := x.pg.Exec(ctx, sql)
	var err error
	for all.NextResult() {
		if rerr := x.read(all.ResultReader(), row); err == nil {
			err = rerr
		}
	}
	if cerr := all.Close(); err == nil {
		err = x.wrap(cerr)
	}
	return err
}

// read hands on the rows of an answer.
func (x *session) read(r *pgconn.ResultReader, row func([]workload.Datum)) error {
	for r.NextRow() {
		if row == nil {
			continue
		}
		x.data = x.data[:0]
		fields := r.FieldDescriptions()
		for i, v := range r.Values() {
			x.data = append(x.data, datum(v, fields[i].DataTypeOID))
		}
		row(x.data)
	}
	_, err := r.Close()
	return x.wrap(err)
}

// wrap keeps an answer of the server as it is, which is cheap, and says what else happened.
func (x *session) wrap(err error) error {
	if _, answered := err.(*pgconn.PgError); err == nil || answered { //nolint:errorlint // a wrapped one is wrapped
		return err
	}
	return x.t.Wrap("execute on", err)
}

// datum returns a column of an answer in text format, by its type.
func datum(v []byte, oid uint32) workload.Datum {
	if v == nil {
		return workload.Datum{}
	}
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		if n, err := workload.Bytes(v).Int(); err == nil {
			return workload.Int(n)
		}
	case pgtype.Float4OID, pgtype.Float8OID:
		if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			return workload.Float(f)
		}
	}
	return workload.Bytes(v)
}

// Kill ends a session of a load, by the process id of the server's process.
func (s sessions) Kill(ctx context.Context, id uint64) {
	c, err := s.t.ConnFor(ctx, conn.ForChanges)
	if err != nil {
		return
	}
	defer s.t.End(c)
	_, _ = c.Exec(
		ctx,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = current_user "+
			"AND application_name = '"+conn.LoadApplication+"'",
		int64(id),
	)
}
