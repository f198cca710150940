package sources

import (
	"context"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// link is one connection of the scraper, and what it has taken. It is used by one goroutine at a time.
type link struct {
	*target.Asker
	way  time.Duration // least time of a question that the server has no work with: the network's and the client's
	used scrape.Usage
}

func newLink(t *target.Target) *link {
	l := new(link)
	l.Asker = t.Asker(target.SessionOptions{Limit: statementLimit}, l.measure)
	return l
}

// statementLimit is how long the server itself lets a statement of a scraper run where it has such a limit: a statement
// that nobody waits for any more must not go on. No source waits longer.
const statementLimit = 10 * time.Second

// measure asks for the way there and back on a new connection.
func (l *link) measure(ctx context.Context, s *target.Session) error {
	for i := range 3 {
		began := time.Now()
		if err := s.Ping(ctx); err != nil {
			return err
		}
		if took := time.Since(began); i == 0 || took < l.way {
			l.way = took
		}
	}
	return nil
}

// remeasure corrects the way after a statement that took less than that, as when the machine was busy at the login:
// with the old one every quick statement would seem to take no time at all.
func (l *link) remeasure(ctx context.Context, most time.Duration) {
	l.way = most
	for range 3 {
		took, ok := l.Way(ctx)
		if !ok {
			return
		}
		l.way = min(l.way, took)
	}
}

// These bound what a source is given of a text, in bytes: whatever is longer is NULL to it. Names are kept from one
// reading to the next.
const (
	longestText   = 2 << 10
	longestValue  = 64 << 10 // of variables, and statements
	longestStatus = 2 << 20  // InnoDB's; servers cut it at 1 MB
)

// longest returns the bound for the answer to a statement.
func longest(query string) int {
	if strings.Contains(query, "ENGINE INNODB STATUS") {
		return longestStatus
	}
	for _, long := range []string{"INFO", "PROCESSLIST", "SQL_TEXT", "GLOBAL VARIABLES"} {
		if strings.Contains(query, long) {
			return longestValue
		}
	}
	return longestText
}

// Query runs a statement and counts what it took.
func (l *link) Query(ctx context.Context, sql string, row func([]driver.Value)) (int, error) {
	if err := l.Open(ctx); err != nil {
		return 0, err
	}
	most := longest(sql)
	began := time.Now()
	n, err := l.Asker.Query(ctx, sql, func(v []driver.Value) {
		for i, x := range v {
			b, ok := x.([]byte)
			switch {
			case !ok:
				l.used.Bytes += 8
				continue
			case len(b) > most: // no server says so much in one word, and much is made of each
				v[i] = nil
			}
			l.used.Bytes += uint64(len(b))
		}
		row(v)
	})
	took := time.Since(began)
	if took < l.way && err == nil {
		l.remeasure(ctx, took)
	}
	l.used.Server += max(0, took-l.way)
	l.used.Statements++
	l.used.Rows += uint64(n)
	return n, err
}

// Spent implements spender: the question what Dyno itself made the server count is one of the link's too.
func (l *link) Spent(ctx context.Context) (target.Spent, bool) { return l.Asker.Spent(ctx, l.Query) }

// Used implements scrape.Link.
func (l *link) Used() scrape.Usage { return l.used }

// Work is Asker.Work with the link's count.
func (l *link) Work() (done func(ctx context.Context)) { return l.Asker.Work(l.Query) }

// Read implements scrape.Link: it ends the reading of the server's totals, which keeps work waiting until release.
// Where other processes read them too, they have to know what the link has taken, and takes until done is called.
func (l *link) Read(ctx context.Context, release func()) (done func(ctx context.Context)) {
	sctx, cancel := context.WithTimeout(ctx, settleAtMost)
	defer cancel()
	others := l.Settle(sctx, l.Query)
	release()
	if !others {
		return func(context.Context) {}
	}
	work := l.Work()
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, settleAtMost)
		defer cancel()
		work(ctx)
	}
}

// settleAtMost bounds the question what a connection has counted; a server that hangs answers it never.
const settleAtMost = 5 * time.Second
