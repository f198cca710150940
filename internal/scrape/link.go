package scrape

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"dyno/internal/target"
)

// link is the scraper's one connection. It is opened when first needed and again after it broke.
type link struct {
	t    *target.Target
	s    *target.Session
	live context.Context // of the connection: the session is bound to one context for good, the time limits of questions come and go
	kill context.CancelFunc
	gen  int
	sent map[string]bool // statements, to tell them from others'
	next time.Time       // not before: an account that the server refuses must not be tried every second, servers lock accounts for that
	last error           // of the last attempt to connect
}

// retryRefused is how long the link waits after the server refused the account or said that it has no connection left.
const retryRefused = 15 * time.Second

// Generation counts connections.
func (l *link) Generation() int { return l.gen }

// Query runs a statement in the text protocol. When it fails for any other reason than the server's answer, the connection is
// given up.
func (l *link) Query(ctx context.Context, sql string, row func([]driver.Value)) (int, error) {
	if err := l.open(ctx); err != nil {
		return 0, err
	}
	if !l.sent[sql] && len(l.sent) < 100 {
		if l.sent == nil {
			l.sent = map[string]bool{}
		}
		l.sent[sql] = true
	}
	unwatch := context.AfterFunc(ctx, l.kill)
	n, err := l.s.Query(l.live, sql, row)
	inTime := unwatch()
	if _, answered := target.ServerErrorNumber(err); !inTime || err != nil && !answered || target.KindOf(err) == target.Gone {
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

func (l *link) close() {
	if l.s != nil {
		l.s.Close()
		l.kill()
		l.s = nil
	}
}
