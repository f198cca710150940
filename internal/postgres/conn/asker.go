package conn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Asker is one connection for questions that come again and again: opened when first needed, and again after it broke.
// A question that is given up is cancelled on the server by the driver. It is used by one goroutine at a time.
type Asker struct {
	t     *Target
	ready func(context.Context, *Asker) error

	c   *pgx.Conn
	gen int

	// not before: an account that the server refuses must not be tried every second
	next  time.Time
	last  error // of the last attempt to connect
	pause time.Duration
}

// RetryRefused is how long an asker waits at most after the server refused the account.
const RetryRefused = 15 * time.Second

// Asker returns one that does not connect before its first question. Its sessions are for reading. ready, which may be
// nil, is called with each new connection before its first question; its error ends the connection.
func (t *Target) Asker(ready func(context.Context, *Asker) error) *Asker {
	return &Asker{t: t, ready: ready}
}

// Generation counts connections: what was learned by an earlier one may be out of date.
func (a *Asker) Generation() int { return a.gen }

// Target returns the target that is asked.
func (a *Asker) Target() *Target { return a.t }

// Retry makes the next question connect at once, whatever the last attempt came to.
func (a *Asker) Retry() { a.next = time.Time{} }

// Open connects if there is no connection.
func (a *Asker) Open(ctx context.Context) error {
	if a.c != nil && !a.c.IsClosed() {
		return nil
	}
	a.Close()
	if time.Now().Before(a.next) {
		return a.last
	}
	c, err := a.t.Conn(ctx)
	if err == nil {
		a.c = c
		a.gen++
		if a.ready != nil {
			if err = a.ready(ctx, a); err != nil {
				a.Close()
			}
		}
	}
	if err != nil {
		if c := ctx.Err(); c != nil && !errors.Is(err, c) {
			err = fmt.Errorf("no answer in time: %w", c)
		}
		a.last = err
		switch KindOf(err) {
		case endpoint.AuthFailed, endpoint.TooManyConnections, endpoint.Denied, endpoint.TLSFailed, endpoint.NotAServer,
			endpoint.NoSuchDatabase:
			a.pause = min(max(time.Second, 2*a.pause), RetryRefused)
			a.next = time.Now().Add(a.pause)
		}
		return err
	}
	a.last, a.pause = nil, 0
	return nil
}

// Query asks and calls row for each row of the answer, which is to scan it; row may be nil. It returns the number of
// rows. After an error that is not the server's answer the connection is given up.
func (a *Asker) Query(ctx context.Context, sql string, row func(pgx.Rows) error, args ...any) (n int, err error) {
	if err := a.Open(ctx); err != nil {
		return 0, err
	}
	rows, err := a.c.Query(ctx, sql, args...)
	if err == nil {
		for rows.Next() {
			n++
			if row == nil {
				continue
			}
			if err = row(rows); err != nil {
				break
			}
		}
		rows.Close()
		err = errors.Join(err, rows.Err())
	}
	if err == nil {
		return n, nil
	}
	if _, answered := SQLState(err); !answered && a.c.IsClosed() || KindOf(err) == endpoint.Gone {
		a.Close()
	}
	if c := ctx.Err(); c != nil {
		a.Close()
		err = fmt.Errorf("no answer in time: %w", c)
	}
	return n, err
}

// Statements looks for the extension pg_stat_statements again: Facts has what was there when the target was opened. It
// takes two questions.
func (a *Asker) Statements(ctx context.Context) (Statements, error) {
	if err := a.Open(ctx); err != nil {
		return Statements{}, err
	}
	return a.t.statements(ctx, a.c)
}

// Ping asks for a sign of life of a connection that there is, and gives up one that has none.
func (a *Asker) Ping(ctx context.Context) error {
	if a.c == nil {
		return nil
	}
	err := a.c.Ping(ctx)
	if err != nil {
		a.Close()
	}
	return err
}

// Close ends the connection; the next question opens another.
func (a *Asker) Close() {
	if a.c != nil {
		a.t.End(a.c)
		a.c = nil
	}
}

// Answered reports whether an error is the server's own answer.
func Answered(err error) bool { _, ok := SQLState(err); return ok }

// Refused reports whether err is the answer of a server that is there and does not let Dyno in: the account, its
// password or this machine is not welcome, or no connection is free.
func Refused(err error) bool {
	k := KindOf(err)
	return k == endpoint.AuthFailed || k == endpoint.TooManyConnections
}
