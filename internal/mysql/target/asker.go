package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Asker is one connection for questions that come again and again: opened when first needed, and again after it broke.
// The server ends a question that takes too long, where it has such a limit, and one that was given up is ended before
// the next one is asked. It is used by one goroutine at a time.
type Asker struct {
	t     *Target
	o     SessionOptions
	ready func(context.Context, *Session) error

	s *Session
	// of the connection: the session is bound to one context for good, the time limits of questions come and go
	live context.Context
	stop context.CancelFunc
	gen  int
	used time.Time // when the server answered last

	// not before: an account that the server refuses must not be tried every second, servers lock accounts for that
	next  time.Time
	last  error // of the last attempt to connect
	pause time.Duration
	left  leftover // what was given up, the zero value for nothing
}

// How long an asker waits after the server refused the account, and after it had no connection left but the one for
// administrators.
const (
	retryRefused = 15 * time.Second
	retryFull    = 30 * time.Second
	retryFullMax = 5 * time.Minute
)

// Asker returns one that does not connect before its first question. Its sessions are for reading, whatever the options
// say. ready, which may be nil, is called with each new session before its first question; its error ends the session.
func (t *Target) Asker(o SessionOptions, ready func(context.Context, *Session) error) *Asker {
	o.Purpose = ForReading
	return &Asker{t: t, o: o, ready: ready}
}

// Generation counts connections.
func (a *Asker) Generation() int { return a.gen }

// Retry makes the next question connect at once, whatever the last attempt came to.
func (a *Asker) Retry() { a.next = time.Time{} }

// Open connects if there is no connection.
func (a *Asker) Open(ctx context.Context) error {
	if a.s != nil && time.Since(a.used) > idleUse {
		a.drop() // the server is about to end it, or has done so
	}
	if a.s != nil {
		return nil
	}
	if time.Now().Before(a.next) {
		return a.last
	}
	s, err := a.t.Session(ctx, a.o)
	if err == nil {
		err = a.prepare(ctx, s)
	}
	if err != nil {
		if c := ctx.Err(); c != nil && !errors.Is(err, c) {
			err = fmt.Errorf("no answer in time: %w", c)
		}
		a.refused(err)
		return err
	}
	a.s, a.last, a.pause, a.used = s, nil, 0, time.Now()
	a.live, a.stop = context.WithCancel(context.Background())
	a.gen++
	return nil
}

// Patience returns how long to wait after an attempt to reach a server that failed. The wait before that attempt was
// pause. A server that nobody answers for may be back in a second. One that turns the account down is left alone for
// longer, for servers lock accounts that are refused often, and one that has no connection left but the last one, or
// whose login is no login, for much longer.
func Patience(err error, pause time.Duration) time.Duration {
	switch {
	case errors.Is(err, errLastSeat), errors.Is(err, errMalformed):
		return min(max(retryFull, 2*pause), retryFullMax)
	case turnedDown(err):
		return min(2*pause, retryRefused)
	}
	return min(2*pause, 2*time.Second)
}

func turnedDown(err error) bool {
	switch KindOf(err) {
	case endpoint.AuthFailed, endpoint.TooManyConnections, endpoint.Denied, endpoint.TLSFailed, endpoint.NotAServer:
		return true
	}
	return false
}

// refused takes note of an attempt to connect that failed.
func (a *Asker) refused(err error) {
	a.last = err
	switch {
	case errors.Is(err, errLastSeat), errors.Is(err, errMalformed):
		a.pause = Patience(err, a.pause)
	case turnedDown(err):
		a.pause = retryRefused
	default:
		return
	}
	a.next = time.Now().Add(a.pause)
}

// prepare makes a new session ready, and ends what was left behind on the one before. It closes s when that fails.
func (a *Asker) prepare(ctx context.Context, s *Session) error {
	// Its context is its own: the session must not be bound to that of the question which happens to be the first.
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // it ends with the question all the same
	err := error(nil)
	if left := a.left; left.id != 0 {
		a.left = leftover{}
		err = left.kill(s.self, func(sql string) (values []string, err error) {
			_, err = s.Query(live, sql, func(row []driver.Value) { values = append(values, asText(row[0])) })
			return values, err
		})
	}
	if err = broken(err); err == nil && a.ready != nil {
		err = broken(a.ready(live, s))
	}
	if err != nil {
		s.Close()
	}
	return err
}

// broken returns an error that is not the server's answer: after that, nothing more can be asked.
func broken(err error) error {
	if _, answered := ServerErrorNumber(err); answered && KindOf(err) != endpoint.Gone {
		return nil
	}
	return err
}

// Query runs a statement in the text protocol. The row and its bytes are valid during the call of row only. When it
// fails for any other reason than the server's answer, the connection is given up.
func (a *Asker) Query(ctx context.Context, sql string, row func([]driver.Value)) (n int, err error) {
	if err := a.Open(ctx); err != nil {
		return 0, err
	}
	unwatch := context.AfterFunc(ctx, a.stop)
	n, err = a.s.Query(a.live, sql, row)
	inTime := unwatch()
	a.used = time.Now()
	if !inTime {
		a.left = leftover{a.s.self, sql}
	}
	if !inTime || broken(err) != nil {
		a.drop()
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return n, err
}

// Ping asks for a sign of life of a connection that there is, so that the server keeps it.
func (a *Asker) Ping(ctx context.Context) {
	if time.Since(a.used) >= idleUse/2 {
		a.Way(ctx)
	}
}

// Way returns how long the way to the server and back takes, by a ping, which is no statement; not ok when there is no
// connection, or none any more.
func (a *Asker) Way(ctx context.Context) (took time.Duration, ok bool) {
	if a.s == nil {
		return 0, false
	}
	unwatch := context.AfterFunc(ctx, a.stop)
	began := time.Now()
	err := a.s.Ping(a.live)
	a.used = time.Now()
	if !unwatch() || err != nil {
		a.drop()
		return 0, false
	}
	return a.used.Sub(began), true
}

// Columns names the columns of the result that is being read; nil when there is no connection.
func (a *Asker) Columns() []string {
	if a.s == nil {
		return nil
	}
	return a.s.Columns()
}

// Owns is Target.Owns for the server that the connection leads to, which behind a balancer may be another one.
func (a *Asker) Owns(id uint64, user, host string) bool {
	if a.s == nil {
		return a.t.Owns(id, user, host)
	}
	return a.s.owns(id, user, host)
}

// Asks reports whether a session of that server is known by its number to be Dyno's own, and of no load.
func (a *Asker) Asks(id uint64) bool {
	if a.s == nil {
		return a.t.self.asks(id)
	}
	return a.s.asks(id)
}

func (a *Asker) drop() {
	if a.s != nil {
		a.s.Close()
		a.stop()
		a.s = nil
	}
}

// Close ends the connection, and what was given up.
func (a *Asker) Close() {
	a.drop()
	if a.left.id != 0 {
		endConn(a.t.endings, a.t.reading, a.left)
		a.left = leftover{}
	}
}
