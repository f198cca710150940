package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"dyno/internal/target"
	"dyno/internal/workload"
)

// connection is what a session needs of its link to the server.
type connection interface {
	call(ctx context.Context, c workload.Call) error
	send(ctx context.Context, sql string, rows bool) error
	id() uint64
	close()
}

// crew is what the sessions of one run share.
type crew struct {
	config Config
	plan   *workload.Plan
	// dial opens a connection that breaks when ctx ends, also later.
	dial func(ctx context.Context) (connection, error)

	hard    context.Context // its end breaks the connections
	stop    chan struct{}   // closed: no further operation begins
	stopped atomic.Bool     // as stop, cheaper to ask
	left    atomic.Int64    // operations that may still begin, when Config.Events limits them
	fail    func(error)     // ends the run with an error
	up      atomic.Int64    // sessions that are connected
}

// session is one connection that runs operations one after the other.
type session struct {
	*crew
	conn  connection // nil while it is lost
	gen   workload.Generator
	rec   *recorder
	timer *time.Timer
	busy  atomic.Uint64 // the server's id of the connection while an operation is under way, else 0
}

// errStopped says that the run ends before an operation came to its end.
var errStopped = errors.New("stopped")

// run performs operations until the run ends.
func (s *session) run() {
	defer func() {
		if s.conn != nil {
			s.conn.close()
		}
	}()
	var op workload.Op
	for s.next() {
		s.gen.Next(&op)
		if op.Think > 0 && !s.sleep(op.Think) {
			return
		}
		var n statements
		begin := time.Now()
		err := s.perform(&op, &n)
		if err == nil {
			s.rec.done(op.Kind, time.Since(begin), n)
			continue
		}
		s.rec.unfinished(op.Kind, n)
		switch {
		case errors.Is(err, errStopped):
			return
		case errors.Is(err, errDropped):
		default:
			s.fail(err)
			return
		}
	}
}

// next reports whether another operation may begin.
func (s *session) next() bool {
	if s.stopped.Load() {
		return false
	}
	return s.config.Events == 0 || s.left.Add(-1) >= 0
}

// sleep waits and reports whether the run goes on.
func (s *session) sleep(d time.Duration) bool {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	select {
	case <-s.timer.C:
		return !s.stopped.Load()
	case <-s.stop:
		s.timer.Stop()
		return false
	}
}

// errDropped says that an operation failed with an error that the user asked to ignore.
var errDropped = errors.New("dropped")

// perform carries out one operation, again from its beginning as often as it takes.
func (s *session) perform(op *workload.Op, n *statements) error {
	for {
		err := s.attempt(op, n)
		if err == nil {
			return nil
		}
		if s.hard.Err() != nil {
			return errStopped
		}
		number, ok := target.ServerErrorNumber(err)
		switch {
		case target.KindOf(err) == target.Gone:
			s.rec.connectionLost()
			if err := s.reconnect(err); err != nil {
				return err
			}
		case !ok:
			return err
		case slices.Contains(Retried[:], number):
			s.rec.serverError(number)
			if err := s.rollback(op, n); err != nil {
				return err
			}
		case s.config.IgnoreAll || slices.Contains(s.config.Ignore, number):
			s.rec.serverError(number)
			if err := s.rollback(op, n); err != nil {
				return err
			}
			return errDropped
		default:
			s.rec.serverError(number)
			return err
		}
		if s.stopped.Load() {
			return errStopped
		}
	}
}

// attempt sends the statements of an operation up to the first that fails. Those the server answered are counted, with an error
// too: the server counts them as well.
func (s *session) attempt(op *workload.Op, n *statements) error {
	s.busy.Store(s.conn.id())
	defer s.busy.Store(0)
	for _, c := range op.Calls {
		err := s.conn.call(s.hard, c)
		if err != nil {
			if _, answered := target.ServerErrorNumber(err); !answered {
				return err
			}
		}
		switch s.plan.Statements[c.Statement].Kind {
		case workload.Read:
			n.reads++
		case workload.Write:
			n.writes++
		default:
			n.others++
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.plan.Statements[c.Statement].SQL, err)
		}
	}
	return nil
}

// rollback ends the transaction that a failed operation may have left open: after a lock wait timeout the server has undone the
// last statement alone.
func (s *session) rollback(op *workload.Op, n *statements) error {
	inTransaction := slices.ContainsFunc(op.Calls, func(c workload.Call) bool {
		return s.plan.Statements[c.Statement].Kind == workload.Other
	})
	if !inTransaction {
		return nil
	}
	err := s.conn.send(s.hard, "ROLLBACK", false)
	switch {
	case err == nil:
		n.others++
		return nil
	case s.hard.Err() != nil:
		return errStopped
	case target.KindOf(err) == target.Gone:
		s.rec.connectionLost()
		return s.reconnect(err)
	}
	return fmt.Errorf("roll back a failed operation: %w", err)
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// reconnect replaces a broken connection, with growing pauses for as long as Config.Reconnect allows.
func (s *session) reconnect(cause error) error {
	s.conn.close()
	s.conn = nil
	s.up.Add(-1)
	begin := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if !s.sleep(pause) {
			return errStopped
		}
		conn, err := s.dial(s.hard)
		switch {
		case err == nil:
			s.conn = conn
			s.up.Add(1)
			s.rec.reconnected()
			return nil
		case s.stopped.Load():
			return errStopped
		case time.Since(begin) > s.config.Reconnect || hopeless(err):
			return fmt.Errorf("connection lost (%w), and no other in %v: %w", cause, time.Since(begin).Round(time.Second), err)
		}
	}
}

// hopeless reports whether no later attempt to connect can succeed without somebody's help.
func hopeless(err error) bool {
	switch target.KindOf(err) {
	case target.AuthFailed, target.TLSFailed, target.NoSuchDatabase, target.Denied, target.BadTarget, target.Unsupported:
		return true
	}
	n, ok := target.ServerErrorNumber(err)
	return ok && n == noSuchTable
}

const (
	noSuchTable     = 1146 // ER_NO_SUCH_TABLE
	tooManyPrepared = 1461 // ER_MAX_PREPARED_STMT_COUNT_REACHED
)
