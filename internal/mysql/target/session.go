package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/guard"
)

// SessionOptions says how a session is set up. The zero value is one of a load.
type SessionOptions struct {
	Database string            // in place of the one of the endpoint.Spec; empty keeps that
	Settings map[string]string // session variables as SET takes them, values quoted by the caller: {"sql_mode": "''"}
	// Unbounded is for statements of which nothing is kept: their answers may be of any length.
	Unbounded bool
	Purpose   Purpose
	Limit     time.Duration // how long the server lets a SELECT run, for sessions for reading; 0 = 10 s
}

// Session is one connection: no pool, no reconnect, few allocations. It is used by one goroutine at a time.
//
// When a context ends during a call, the call returns the context's error and the session is broken, as it is after any
// error of kind Gone: close it and open another. The server itself may go on with the statement until it notices. A
// context that ends between calls does no harm.
type Session struct {
	spec endpoint.Spec
	conn rawConn
	net  net.Conn
	self
	meter  *meter
	broken bool // nothing more can be asked
	row    []driver.Value
	cols   []string // of the latest result

	ctx   context.Context // of the latest call
	done  <-chan struct{} // of ctx
	stop  func() bool     // ends the watching of ctx
	fired chan struct{}   // closed when the end of ctx has been acted upon
}

// rawConn and rawStmt are the driver's methods that take arguments as they are, without a context: a watcher for each
// statement would cost more than the statement.
type rawConn interface {
	driver.Conn
	Exec(query string, args []driver.Value) (driver.Result, error)
	Query(query string, args []driver.Value) (driver.Rows, error)
}

type rawStmt interface {
	Close() error
	NumInput() int
	Exec(args []driver.Value) (driver.Result, error)
	Query(args []driver.Value) (driver.Rows, error)
}

// Stmt is a prepared statement of a session.
type Stmt struct {
	s    *Session
	stmt rawStmt
}

// Session logs in once more.
func (t *Target) Session(ctx context.Context, o SessionOptions) (*Session, error) {
	s := t.spec
	if o.Database != "" {
		s.Database = o.Database
	}
	if o.Unbounded {
		s.MaxAnswer = -1
	}
	c, err := connectorOf(t, s, o)
	if err != nil {
		return nil, err
	}
	return c.session(ctx)
}

func (c *connector) session(ctx context.Context) (*Session, error) {
	conn, nc, me, m, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	rc, ok := conn.(rawConn)
	if !ok {
		conn.Close()
		m.left()
		return nil, fmt.Errorf("open session: the driver's connection is a %T", conn) // a driver of another make
	}
	return &Session{spec: c.spec, conn: rc, net: nc, self: me, meter: m}, nil
}

// ID returns the server's id of the connection, as the processlist shows it.
func (s *Session) ID() uint64 { return s.id }

// watch makes the end of ctx break the connection. A load passes the same context again and again, which costs nothing.
func (s *Session) watch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := ctx.Done()
	if d == s.done {
		s.ctx = ctx
		return nil
	}
	if s.stop != nil && !s.stop() {
		// The earlier context has ended. If that was during a call, the driver has closed the connection; if not,
		// nothing was on its way.
		<-s.fired
		s.net.SetDeadline(time.Time{})
	}
	s.ctx, s.done, s.stop = ctx, d, nil
	if d != nil {
		nc, fired := s.net, make(chan struct{})
		s.fired = fired
		s.stop = context.AfterFunc(ctx, func() {
			nc.SetDeadline(time.Unix(1, 0))
			close(fired)
		})
	}
	return nil
}

// err gives an error of the driver its kind. After the end of the context it is the context's.
func (s *Session) err(op string, err error) error {
	if g, ok := s.net.(*greeted); ok && g.long.Load() {
		err = fmt.Errorf("%w: %w", errTooLong, err)
	}
	if KindOf(err) == endpoint.Gone {
		s.broken = true
		if c := s.ctx.Err(); c != nil {
			err = c
		}
	}
	return &endpoint.Error{Op: op, Kind: classify(err), Target: s.spec.Where(), Err: err}
}

// Prepare prepares a statement on the server.
func (s *Session) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	if err := s.watch(ctx); err != nil {
		return nil, err
	}
	st, err := shield(s.net, func() (driver.Stmt, error) { return s.conn.Prepare(sql) })
	if err != nil {
		return nil, s.err("prepare", err)
	}
	rs, ok := st.(rawStmt)
	if !ok {
		st.Close()
		return nil, fmt.Errorf("prepare: the driver's statement is a %T", st)
	}
	return &Stmt{s, rs}, nil
}

// Query runs a statement in the text protocol and decodes every row: int64, float32, float64, []byte or nil. row may be
// nil; its slice and the bytes in it are valid only during the call. It returns the number of rows.
func (s *Session) Query(ctx context.Context, sql string, row func([]driver.Value)) (int, error) {
	if err := s.watch(ctx); err != nil {
		return 0, err
	}
	tell(s.where, s.meter, sql)
	rows, err := shield(s.net, func() (driver.Rows, error) { return s.conn.Query(sql, nil) })
	if err != nil {
		return 0, s.err("query", err)
	}
	n, err := s.read(rows, row)
	s.meter.answered(sql, n)
	return n, err
}

// Columns names the columns of the result that is being read, or was read last.
func (s *Session) Columns() []string { return s.cols }

// Exec runs a statement in the text protocol and returns the number of affected rows.
func (s *Session) Exec(ctx context.Context, sql string) (affected int64, err error) {
	if err := s.watch(ctx); err != nil {
		return 0, err
	}
	tell(s.where, s.meter, sql)
	r, err := shield(s.net, func() (driver.Result, error) { return s.conn.Exec(sql, nil) })
	if err != nil {
		return 0, s.err("execute", err)
	}
	return r.RowsAffected()
}

// Ping asks for a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	if err := s.watch(ctx); err != nil {
		return err
	}
	if p, ok := s.conn.(driver.Pinger); ok {
		_, err := shield(s.net, func() (struct{}, error) { return struct{}{}, p.Ping(context.WithoutCancel(ctx)) })
		if err != nil {
			return s.err("ping", err)
		}
	}
	return nil
}

// Close ends the connection. It may be called at any time by the session's own goroutine, and more than once.
func (s *Session) Close() error {
	if s.stop != nil && !s.stop() {
		<-s.fired
	}
	s.stop, s.done = nil, nil
	s.left()
	s.net.SetDeadline(time.Now().Add(time.Second)) // a dead peer must not hold up the good-bye
	if s.meter != nil && s.meter.since > 0 && !s.broken {
		s.meter.account(s.where, s.net, func(sql string) (driver.Rows, error) { return s.conn.Query(sql, nil) })
	}
	s.meter.left()
	s.meter = nil
	err := s.conn.Close()
	if err != nil && KindOf(err) != endpoint.Gone && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Query runs the statement and decodes every row; see Session.Query. args hold int64, uint64, float64, bool, []byte,
// string, time.Time or nil.
func (x *Stmt) Query(ctx context.Context, args []driver.Value, row func([]driver.Value)) (int, error) {
	if err := x.check(ctx, args); err != nil {
		return 0, err
	}
	rows, err := shield(x.s.net, func() (driver.Rows, error) { return x.stmt.Query(args) })
	if err != nil {
		return 0, x.s.err("query", err)
	}
	return x.s.read(rows, row)
}

// Exec runs the statement and returns the number of affected rows.
func (x *Stmt) Exec(ctx context.Context, args []driver.Value) (affected int64, err error) {
	if err := x.check(ctx, args); err != nil {
		return 0, err
	}
	r, err := shield(x.s.net, func() (driver.Result, error) { return x.stmt.Exec(args) })
	if err != nil {
		return 0, x.s.err("execute", err)
	}
	return r.RowsAffected()
}

// Close frees the statement on the server.
func (x *Stmt) Close() error { return x.stmt.Close() }

func (x *Stmt) check(ctx context.Context, args []driver.Value) error {
	if n := x.stmt.NumInput(); n != len(args) {
		return fmt.Errorf("execute: the statement takes %d values, %d were given", n, len(args))
	}
	return x.s.watch(ctx)
}

// read decodes all rows. Further results of a procedure are read and dropped.
func (s *Session) read(rows driver.Rows, row func([]driver.Value)) (n int, err error) {
	if other := guard.Shaped(func() error { n, err = s.decode(rows, row); return nil }); other != nil {
		s.net.Close() // what is left of the answer is no better
		return n, s.err("read rows", other)
	}
	return n, err
}

func (s *Session) decode(rows driver.Rows, row func([]driver.Value)) (n int, err error) {
	s.cols = rows.Columns()
	cols := len(s.cols)
	if cap(s.row) < cols {
		s.row = make([]driver.Value, cols)
	}
	buf := s.row[:cols]
	for {
		if err := next(s.net, rows, buf); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			_ = done(s.net, rows) // the first error says more
			return n, s.err("read rows", err)
		}
		if n++; n > maxRows && s.spec.MaxAnswer >= 0 {
			s.net.Close() // reading the rest would be what is to be avoided
			return n, s.err("read rows", fmt.Errorf("%w: more than %d rows", errTooLong, maxRows))
		}
		if row != nil {
			row(buf)
		}
	}
	if err := done(s.net, rows); err != nil {
		return n, s.err("read rows", err)
	}
	return n, nil
}
