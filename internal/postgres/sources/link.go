package sources

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// link is one connection of the scraper, and what it has taken. It is used by one goroutine at a time.
type link struct {
	*conn.Asker
	way  time.Duration // least time of a question that the server has no work with: the network's and the client's
	used scrape.Usage
	// transactions are those that the server has counted, or will, of this link; flushed are those that it surely has.
	transactions uint64
	flushed      atomic.Uint64
	succeeded    atomic.Uint64 // statements that the server has carried out
}

func newLink(t *conn.Target) *link {
	l := new(link)
	l.Asker = t.Asker(l.begin)
	return l
}

// loginTransactions is what a login counts as: one to look the account up, one for the settings of the session.
const loginTransactions = 2

// begin takes note of a new connection, and asks for the way there and back.
func (l *link) begin(ctx context.Context, a *conn.Asker) error {
	l.transactions += loginTransactions
	for i := range 3 {
		began := time.Now()
		if err := a.Ping(ctx); err != nil { // an empty statement
			return err
		}
		l.transactions++
		if took := time.Since(began); i == 0 || took < l.way {
			l.way = took
		}
	}
	return nil
}

// Query asks, and counts what it took.
func (l *link) Query(ctx context.Context, sql string, row func(pgx.Rows) error, args ...any) (int, error) {
	if err := l.Open(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	n, err := l.Asker.Query(ctx, sql, func(rows pgx.Rows) error {
		for _, v := range rows.RawValues() {
			l.used.Bytes += uint64(len(v))
		}
		return row(rows)
	}, args...)
	took := time.Since(began)
	if err == nil {
		l.way = min(l.way, took)
		l.succeeded.Add(1)
	}
	l.used.Server += max(0, took-l.way)
	l.used.Statements++
	l.used.Rows += uint64(n)
	l.transactions++
	return n, err
}

// flush has the server count what this link has done: without it that may take seconds.
func (l *link) flush(ctx context.Context) error {
	sql := pgtext.Tagged("scrape", "SELECT pg_stat_force_next_flush()")
	_, err := l.Query(ctx, sql, func(pgx.Rows) error { return nil })
	if err == nil {
		l.flushed.Store(l.transactions)
	}
	return err
}

// Statements looks for the extension pg_stat_statements, see Asker.Statements.
func (l *link) Statements(ctx context.Context) (conn.Statements, error) {
	l.transactions += 2
	l.used.Statements += 2
	st, err := l.Asker.Statements(ctx)
	if err == nil {
		l.succeeded.Add(2)
	}
	return st, err
}

// Used implements scrape.Link.
func (l *link) Used() scrape.Usage { return l.used }

// Ping implements scrape.Link. A PostgreSQL server keeps idle sessions unless idle_session_timeout is set, and then the
// next question opens another.
func (l *link) Ping(context.Context) {}

// Hold implements scrape.Link: other processes' shares of the totals are not known, so there is nothing to wait for.
func (l *link) Hold() (release func()) { return func() {} }

// Read implements scrape.Link.
func (l *link) Read(_ context.Context, release func()) (done func(ctx context.Context)) {
	release()
	return func(context.Context) {}
}

// Work implements scrape.Link: when the heavy sources are read, the server counts what they have done.
func (l *link) Work() (done func(ctx context.Context)) {
	before := l.used.Statements
	return func(ctx context.Context) {
		if l.used.Statements > before {
			_ = l.flush(ctx) // a connection that is gone has been flushed
		}
	}
}
