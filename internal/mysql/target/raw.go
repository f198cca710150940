package target

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// ErrNeedsDriver says that Raw cannot open connections to a target: they are encrypted, or the account logs in by a
// plugin that package wire does not speak. Session can.
var ErrNeedsDriver = errors.New("the general driver is needed")

// Raw is a connection for a load that speaks package wire over a bare descriptor. Its owner first prepares what it
// needs, with calls that wait; then Detach hands out the descriptor, and from then on the owner reads and writes
// itself. It is used by one goroutine at a time. When a context ends during a call, the connection is broken, as it is
// after any error of kind Gone.
type Raw struct {
	spec   endpoint.Spec
	conn   net.Conn // until Detach
	fd     int      // after Detach
	id     uint64
	caps   wire.Caps
	reader wire.Reader
	buf    []byte
	closed bool
}

// Raw logs in once more for a load. Errors are of type *endpoint.Error, but for ErrNeedsDriver. After that one, further
// calls answer it at once.
func (t *Target) Raw(ctx context.Context, o SessionOptions) (*Raw, error) {
	s := t.spec
	if o.Database != "" {
		s.Database = o.Database
	}
	s.MaxAnswer = -1 // a load keeps no row
	answer := t.rawAnswer.Load()
	if answer == nil {
		err := needsDriver(ctx, t.spec, t.reading)
		if err != nil && !errors.Is(err, ErrNeedsDriver) {
			return nil, connectError(s, err)
		}
		answer = &err
		t.rawAnswer.Store(answer)
	}
	if *answer != nil {
		return nil, *answer
	}
	r, err := openRaw(ctx, s, settingsOf(t, ForLoad, 0, o.Settings))
	switch {
	case errors.Is(err, ErrNeedsDriver):
		t.rawAnswer.Store(&err) // a login that is broken off counts against this machine, see max_connect_errors
		return nil, err
	case err != nil:
		return nil, connectError(s, err)
	}
	return r, nil
}

// needsDriver reports ErrNeedsDriver when connections are encrypted. With TLS preferred, the pool's own connections
// tell.
func needsDriver(ctx context.Context, spec endpoint.Spec, reading *sql.DB) error {
	if spec.Jump != (tunnel.Jump{}) {
		return fmt.Errorf("%w: connections go through a jump host", ErrNeedsDriver)
	}
	switch mode := spec.Mode(); {
	case spec.ServerKey != "" && spec.Network != "unix":
		return fmt.Errorf("%w: passwords are sealed with a key that is here", ErrNeedsDriver)
	case mode == endpoint.TLSDisabled, mode == endpoint.TLSPreferred && spec.Network == "unix":
		return nil
	case mode == endpoint.TLSPreferred:
		var name, cipher string
		if err := reading.QueryRowContext(ctx, own("SHOW SESSION STATUS LIKE 'Ssl_cipher'")).Scan(&name,
			&cipher); err != nil || cipher == "" {
			return err
		}
	}
	return fmt.Errorf("%w: connections are encrypted (tls=%s)", ErrNeedsDriver, spec.Mode())
}

func openRaw(ctx context.Context, s endpoint.Spec, settings string) (r *Raw, err error) {
	d := s.ConnectTimeout
	if d <= 0 {
		d = endpoint.DefaultConnectTimeout
	}
	tctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
	defer cancel()
	defer func() {
		if err != nil && tctx.Err() != nil && ctx.Err() == nil {
			err = context.Cause(tctx)
		} else if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	network := s.Network
	if network == "" {
		network = "tcp"
	}
	conn, err := dial(tctx, &s, network, s.Where())
	if err != nil {
		return nil, err
	}
	if g, ok := conn.(*greeted); ok {
		g.login = network != "unix" // it is not encrypted, whatever the server offers
	}
	r = &Raw{spec: s, conn: conn, fd: -1, buf: make([]byte, 4096)}
	err = r.within(tctx, func() error {
		if err := r.login(network == "unix"); err != nil {
			return err
		}
		if g, ok := conn.(*greeted); ok {
			g.most = g.later
		}
		return r.exec("SET " + settings)
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

// within runs f, whose reads and writes fail when ctx ends. After an error that is not the server's own, nobody knows
// where in an answer the connection stands: it is closed.
func (r *Raw) within(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		r.conn.SetDeadline(time.Unix(1, 0))
		close(done)
	})
	err := f()
	if !stop() {
		<-done
		r.conn.SetDeadline(time.Time{})
	}
	if _, refused := ServerErrorNumber(err); err == nil || refused {
		return err
	}
	r.conn.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (r *Raw) login(local bool) error {
	h := wire.Handshake{
		User: r.spec.User, Password: r.spec.Password.Reveal(), Database: r.spec.Database, Local: local,
		Attributes: [][2]string{{"_client_name", "dyno"}, {"program_name", "dyno"}, {"dyno_role", "load"}},
	}
	for {
		n, err := r.conn.Read(r.buf)
		if err != nil {
			return err
		}
		send, done, err := h.Feed(r.buf[:n])
		switch {
		case errors.Is(err, wire.ErrPlugin):
			return fmt.Errorf("%w: %w", ErrNeedsDriver, err)
		case errors.Is(err, wire.ErrMalformed):
			return &endpoint.Error{Op: "log in", Kind: endpoint.NotAServer, Err: err}
		case err != nil:
			return err
		}
		r.id, r.caps = uint64(h.Greeting().ID), h.Caps()
		if done {
			r.reader.Reset(r.caps)
			return nil
		}
		if len(send) > 0 {
			if _, err := r.conn.Write(send); err != nil {
				return err
			}
		}
	}
}

// exec sends a text and drops its rows.
func (r *Raw) exec(sql string) error {
	r.reader.ExpectText()
	return r.roundTrip(wire.AppendQuery(nil, sql))
}

func (r *Raw) roundTrip(command []byte) error {
	if _, err := r.conn.Write(command); err != nil {
		return err
	}
	for {
		n, err := r.conn.Read(r.buf)
		if err != nil {
			return err
		}
		r.reader.Feed(r.buf[:n])
		for ev := wire.Row; ev == wire.Row; {
			if ev, err = r.reader.Next(); err != nil || ev == wire.Done {
				return err
			}
		}
	}
}

var errDetached = errors.New("the descriptor has been handed out")

// Exec runs a statement in the text protocol and drops its rows. Not after Detach.
func (r *Raw) Exec(ctx context.Context, sql string) error {
	return r.call(ctx, "execute", func() error { return r.exec(sql) })
}

// Prepare prepares a statement on the server. Not after Detach.
func (r *Raw) Prepare(ctx context.Context, sql string) (*wire.Stmt, error) {
	st := &wire.Stmt{}
	err := r.call(ctx, "prepare", func() error {
		r.reader.ExpectPrepare(st)
		return r.roundTrip(wire.AppendPrepare(nil, sql))
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (r *Raw) call(ctx context.Context, op string, f func() error) error {
	if r.conn == nil {
		return fmt.Errorf("%s: %w", op, errDetached)
	}
	return r.Wrap(op, r.within(ctx, f))
}

// Detach hands out the connection's descriptor: non-blocking, close on exec, and no longer known to Go's own poller. It
// stays the Raw's: Close closes it. It fails when the process has no descriptor left.
func (r *Raw) Detach() (fd int, err error) {
	if r.conn == nil {
		return r.fd, nil
	}
	sc, ok := r.conn.(syscall.Conn)
	if !ok {
		return -1, r.Wrap("take the descriptor of", errors.ErrUnsupported)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, r.Wrap("take the descriptor of", err)
	}
	var derr error
	if err := raw.Control(func(s uintptr) { r.fd, derr = duplicate(s) }); err != nil {
		derr = err
	}
	if derr != nil {
		r.fd = -1
		return -1, r.Wrap("take the descriptor of", derr)
	}
	r.conn.Close() // its twin goes on
	r.conn = nil
	return r.fd, nil
}

// FD returns the descriptor that Detach has handed out, -1 before and after Close.
func (r *Raw) FD() int { return r.fd }

// ID returns the server's id of the connection, as the processlist shows it.
func (r *Raw) ID() uint64 { return r.id }

// Caps returns what client and server have agreed on: a Reader of this connection must know.
func (r *Raw) Caps() wire.Caps { return r.caps }

// Wrap gives an error of this connection, from package wire or of reading and writing, its kind and hint, as
// *endpoint.Error; nil stays nil.
func (r *Raw) Wrap(op string, err error) error {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return wrap(r.spec, op, err)
}

// Close says good-bye and closes the descriptor, without waiting. It may be called more than once.
func (r *Raw) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	quit := wire.AppendQuit(nil)
	if r.conn != nil {
		r.conn.SetDeadline(time.Now().Add(time.Second)) // a dead peer must not hold up the good-bye
		r.conn.Write(quit)                              //nolint:errcheck // a good-bye that does not arrive is none
		if err := r.conn.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
	fd := r.fd
	r.fd = -1
	return farewell(fd, quit)
}
