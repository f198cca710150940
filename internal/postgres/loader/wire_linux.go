package loader

import (
	"context"
	"crypto/tls"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/workload"
)

// wire is a session for an event loop.
type wire struct {
	codec
	t  *conn.Target
	fd int
	id uint64
}

var _ load.WireDialer = sessions{}

// DialWire opens a session, prepares the statements of the plan and takes the descriptor of the connection from the
// driver.
func (s sessions) DialWire(ctx context.Context, plan *workload.Plan, mode load.PSMode) (load.Wire, error) {
	x, err := s.dial(ctx, plan, mode)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	w := &wire{codec: codec{plan: plan, stmts: make([]*prepared, len(plan.Statements))}, t: s.t, id: x.ID()}
	for i, d := range x.stmts {
		if d != nil {
			w.stmts[i] = newPrepared(d)
		}
	}
	if w.fd, err = detach(x.pg); err != nil {
		return nil, fmt.Errorf("%w: %w", load.ErrOtherWay, err)
	}
	return w, nil
}

// detach takes the descriptor of a connection that is not encrypted, and has nothing more to say.
func detach(pg *pgconn.PgConn) (fd int, err error) {
	c := pg.Conn()
	if _, encrypted := c.(*tls.Conn); encrypted {
		return -1, fmt.Errorf("the connection is encrypted")
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("the connection has no descriptor")
	}
	if n := pg.Frontend().ReadBufferLen(); n > 0 {
		return -1, fmt.Errorf("the server has said %d bytes that were not asked for", n)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	var derr error
	if err := raw.Control(func(s uintptr) { fd, derr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		derr = err
	}
	if derr != nil {
		return -1, derr
	}
	_ = c.Close() // its twin goes on; the driver finds it closed and says no good-bye
	return fd, nil
}

// FD returns the descriptor.
func (w *wire) FD() int { return w.fd }

// ID returns the process id of the server's process.
func (w *wire) ID() uint64 { return w.id }

// Wrap says what else happened than an answer of the server.
func (w *wire) Wrap(op string, err error) error {
	if _, answered := err.(*pgconn.PgError); answered { //nolint:errorlint // a wrapped one is wrapped
		return err
	}
	return w.t.Wrap(op, err)
}

// Close says good-bye, if that does not have to wait, and ends the connection.
func (w *wire) Close() error {
	if w.fd < 0 {
		return nil
	}
	fd := w.fd
	w.fd = -1
	unix.Write(fd, []byte("X\x00\x00\x00\x04")) //nolint:errcheck // a good-bye that does not arrive is none
	return unix.Close(fd)
}
