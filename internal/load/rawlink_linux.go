package load

import (
	"context"
	"errors"
	"io"

	"github.com/dyno-perf/dyno/internal/workload"
)

// rawLink is a connection of a loop. It never waits.
type rawLink struct {
	wire Wire
	fd   int
	out  []byte // the command under way
	sent int    // of out
}

// dialRaw opens a connection and prepares the statements of the plan.
func dialRaw(ctx context.Context, d WireDialer, plan *workload.Plan, mode PSMode) (*rawLink, error) {
	w, err := d.DialWire(ctx, plan, mode)
	if err != nil {
		return nil, err
	}
	return &rawLink{wire: w, fd: w.FD()}, nil
}

// call makes the command for one statement ready.
func (l *rawLink) call(c *workload.Call) (err error) {
	l.sent = 0
	l.out, err = l.wire.AppendCall(l.out[:0], c)
	return err
}

// rollback makes that command ready.
func (l *rawLink) rollback() { l.out, l.sent = l.wire.AppendText(l.out[:0], "ROLLBACK"), 0 }

// flush sends what is left of the command. It reports whether all of it has gone.
func (l *rawLink) flush() (all bool, err error) {
	for l.sent < len(l.out) {
		n, err := send(l.fd, l.out[l.sent:])
		switch {
		case errors.Is(err, errAgain):
			return false, nil
		case err != nil:
			return false, l.wire.Wrap("send", err)
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
		return true, false, l.wire.Wrap("receive", err)
	case n == 0:
		return true, false, l.wire.Wrap("receive", io.EOF)
	}
	l.wire.Feed(buf[:n])
	if done, err = l.wire.Next(gen); err != nil {
		return true, false, l.wire.Wrap("execute", err)
	}
	return done, !done && n == len(buf), nil
}

// silent reports whether nothing has arrived, not even the end of the connection. What some servers say unasked, such
// as a notice, counts as nothing.
func (l *rawLink) silent(buf []byte) bool {
	_, unasked := l.wire.(interface{ Unasked() })
	for {
		n, err := receive(l.fd, buf)
		if err != nil || n == 0 || !unasked {
			return errors.Is(err, errAgain)
		}
		l.wire.Feed(buf[:n])
		if done, err := l.wire.Next(nil); done || err != nil {
			return false
		}
	}
}
