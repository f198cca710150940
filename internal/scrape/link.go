package scrape

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// link is one connection of the scraper. It is opened when first needed and again after it broke. It is used by one goroutine at
// a time, but for statements.
type link struct {
	t    *target.Target
	s    *target.Session
	live context.Context // of the connection: the session is bound to one context for good, the time limits of questions come and go
	kill context.CancelFunc
	gen  int
	next time.Time     // not before: an account that the server refuses must not be tried every second, servers lock accounts for that
	last error         // of the last attempt to connect
	way  time.Duration // least time of a question that the server has no work with: the network's and the client's
	left uint64        // id of a connection that was given up with a statement on it, 0 for none
	used usage

	mu   sync.Mutex
	sent map[string]bool // statements, to tell them from others'
}

// usage counts what a link has taken since it was made.
type usage struct {
	server     time.Duration // wall-clock time of its statements but for the way there and back
	statements uint64
	rows       uint64
	bytes      uint64 // of the values in these rows
}

func (u usage) minus(o usage) usage {
	return usage{u.server - o.server, u.statements - o.statements, u.rows - o.rows, u.bytes - o.bytes}
}

// retryRefused is how long the link waits after the server refused the account or said that it has no connection left.
const retryRefused = 15 * time.Second

// statementLimit is how long the server itself lets a statement of a scraper run where it has such a limit, seconds: a statement
// that nobody waits for any more must not go on. No source waits longer.
const statementLimit = 10

// Generation counts connections.
func (l *link) Generation() int { return l.gen }

// Query runs a statement in the text protocol. When it fails for any other reason than the server's answer, the connection is
// given up.
func (l *link) Query(ctx context.Context, sql string, row func([]driver.Value)) (int, error) {
	if err := l.open(ctx); err != nil {
		return 0, err
	}
	l.remember(sql)
	began := time.Now()
	unwatch := context.AfterFunc(ctx, l.kill)
	n, err := l.s.Query(l.live, sql, func(v []driver.Value) {
		for _, x := range v {
			if b, ok := x.([]byte); ok {
				l.used.bytes += uint64(len(b))
			} else {
				l.used.bytes += 8
			}
		}
		row(v)
	})
	inTime := unwatch()
	l.used.server += max(0, time.Since(began)-l.way)
	l.used.statements++
	l.used.rows += uint64(n)
	if _, answered := target.ServerErrorNumber(err); !inTime || err != nil && !answered || target.KindOf(err) == target.Gone {
		if !inTime {
			l.left = l.s.ID()
		}
		l.close()
	}
	if err == nil {
		return n, nil
	}
	if c := ctx.Err(); c != nil {
		err = fmt.Errorf("no answer in time: %w", c)
	}
	return n, err
}

func (l *link) remember(sql string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sent[sql] && len(l.sent) < 100 {
		if l.sent == nil {
			l.sent = map[string]bool{}
		}
		l.sent[sql] = true
	}
}

// statements returns what was sent. It may be called at any time.
func (l *link) statements() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sent {
		all = append(all, s)
	}
	return all
}

func (l *link) open(ctx context.Context) error {
	if l.s != nil {
		return nil
	}
	if now := time.Now(); now.Before(l.next) {
		return l.last
	}
	s, err := l.t.Session(ctx, target.SessionOptions{Settings: map[string]string{
		"lock_wait_timeout": "5",
		"long_query_time":   "3600", // what Dyno asks does not belong in the slow log
	}})
	if err == nil {
		err = l.prepare(ctx, s)
	}
	if err != nil {
		if c := ctx.Err(); c != nil && !errors.Is(err, c) {
			err = fmt.Errorf("no answer in time: %w", c)
		}
		l.last = err
		switch target.KindOf(err) {
		case target.AuthFailed, target.TooManyConnections, target.Denied, target.TLSFailed:
			l.next = time.Now().Add(retryRefused)
		}
		return err
	}
	l.s, l.last = s, nil
	l.live, l.kill = context.WithCancel(context.Background())
	l.gen++
	return nil
}

// prepare makes a new connection ready, and ends what was left behind on the one before. It closes s when that fails.
func (l *link) prepare(ctx context.Context, s *target.Session) error {
	// Its context is its own: the session must not be bound to that of the question which happens to be the first.
	pctx, cancel := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, cancel)()
	fail := func(err error) bool { _, answered := target.ServerErrorNumber(err); return err != nil && !answered }
	limit := "SET SESSION max_execution_time=" + strconv.Itoa(statementLimit*1000)
	if l.t.Facts().Flavor == "mariadb" {
		limit = "SET SESSION max_statement_time=" + strconv.Itoa(statementLimit)
	}
	limit = sqltext.Tagged("scrape", "", limit)
	l.remember(limit)
	_, err := s.Exec(pctx, limit) // old servers have no such limit and say so
	if !fail(err) && l.left != 0 {
		err = l.abandon(pctx, s)
	}
	for i := 0; i < 3 && !fail(err); i++ {
		began := time.Now()
		if err = s.Ping(pctx); err == nil && (i == 0 || time.Since(began) < l.way) {
			l.way = time.Since(began)
		}
	}
	if fail(err) {
		s.Close()
		return err
	}
	return nil
}

// abandon kills the connection that was left with a statement on it, if the server has not noticed its end yet. The number alone is
// not enough: after a restart or behind a proxy it may be somebody else's.
func (l *link) abandon(ctx context.Context, s *target.Session) error {
	found := false
	_, err := s.Query(ctx, sqltext.Tagged("scrape", "", "SELECT INFO FROM information_schema.PROCESSLIST WHERE USER=SUBSTRING_INDEX(USER(),'@',1) AND ID="+strconv.FormatUint(l.left, 10)), func(row []driver.Value) {
		found = found || sqltext.Own(text(row[0]))
	})
	if err != nil || !found {
		l.left = 0
		return err
	}
	_, err = s.Exec(ctx, sqltext.Tagged("scrape", "", "KILL "+strconv.FormatUint(l.left, 10)))
	l.left = 0
	return err
}

func (l *link) close() {
	if l.s != nil {
		l.s.Close()
		l.kill()
		l.s = nil
	}
}
