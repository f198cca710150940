package target

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// driverConn is what a connection of the driver's can do.
type driverConn interface {
	driver.Conn
	driver.Pinger
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

// pooled is a connection of a pool. It remembers what it was asked last: when nobody waits for the answer any more, the
// server is told.
type pooled struct {
	driverConn
	self
	meter *meter
	t     *Target
	net   net.Conn
	ctx   context.Context
	sql   string
	// times is how many answers of the usual length one may have, 0 for any length.
	times int
}

func (p *pooled) note(ctx context.Context, sql string) {
	p.ctx, p.sql = ctx, sql
	tell(p.where, p.meter, sql)
	p.meter.answered(sql, 1)
}

// settle asks what the connection has counted, if it was used since it was asked and more than a few statements ago.
func (p *pooled) settle(few int) {
	if p.meter == nil || p.meter.since <= few || p.ctx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	p.meter.account(p.where, p.net, func(sql string) (driver.Rows, error) {
		return p.driverConn.QueryContext(ctx, sql, nil)
	})
}

// settleTime bounds the question of a pool's connection about itself, and settleAfter is how many statements it may put
// off.
const (
	settleTime  = time.Second
	settleAfter = 8
)

// IsValid implements driver.Validator: it is called when the connection goes back to its pool.
func (p *pooled) IsValid() bool {
	if p.driverConn.IsValid() {
		p.settle(0)
	}
	return p.driverConn.IsValid()
}

// QueryContext implements driver.QueryerContext.
func (p *pooled) QueryContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	p.note(ctx, sql)
	rows, err := shield(p.net, func() (driver.Rows, error) { return p.driverConn.QueryContext(ctx, sql, args) })
	if err != nil {
		return nil, err
	}
	return &shieldedRows{Rows: rows, of: p}, nil
}

// ExecContext implements driver.ExecerContext.
func (p *pooled) ExecContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Result, error) {
	p.note(ctx, sql)
	return shield(p.net, func() (driver.Result, error) { return p.driverConn.ExecContext(ctx, sql, args) })
}

// Close implements driver.Conn.
func (p *pooled) Close() error {
	valid := p.driverConn.IsValid()
	p.net.SetDeadline(time.Now().Add(settleTime)) // who reads nothing must not hold up the good-bye
	if valid {
		p.settle(0)
	}
	p.meter.left()
	p.meter = nil
	cut := !valid && p.ctx != nil && p.ctx.Err() != nil && p.ctx.Value(endingKey{}) == nil
	p.left()
	err := p.driverConn.Close()
	if cut {
		endConn(p.t.endings, p.t.reading, leftover{p.self, p.sql})
	}
	return err
}

// leftover is a connection that was given up with a statement on it.
type leftover struct {
	self
	sql string
}

// endingKey marks the questions that end leftovers: these are not ended in their turn.
type endingKey struct{}

// endingTime bounds the ending of one leftover, the wait for those before it included.
const endingTime = 3 * time.Second

// endings are the leftovers that are being ended, one at a time.
type endings struct {
	sync.WaitGroup
	one sync.Mutex
}

// endConn sees to it, soon and in the background, that the server does not go on with a statement that was given up.
// Close waits for it.
func endConn(endings *endings, reading *sql.DB, l leftover) {
	if !sqltext.Own(l.sql) {
		return
	}
	endings.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), endingKey{}, true), endingTime)
		defer cancel()
		endings.one.Lock()
		defer endings.one.Unlock()
		conn, err := reading.Conn(ctx)
		if err != nil {
			return // the server's own limit ends the statement
		}
		defer conn.Close()
		_ = conn.Raw(func(c any) error {
			p, ok := c.(*pooled)
			if !ok {
				return nil
			}
			return l.kill(p.self, func(sql string) (values []string, err error) {
				rows, err := p.QueryContext(ctx, sql, nil)
				if err != nil {
					return nil, err
				}
				defer rows.Close()
				row := make([]driver.Value, len(rows.Columns()))
				for len(row) > 0 && rows.Next(row) == nil {
					values = append(values, asText(row[0]))
				}
				return values, nil
			})
		})
	})
}

// kill ends the connection that was left behind if the server has not noticed its end yet, by way of another
// connection, me. The number alone is not enough: after a restart, or when another server answers, it is somebody
// else's. So the server must be the same, and the account and the statement too. ask returns the first column of the
// answer.
func (l leftover) kill(me self, ask func(sql string) ([]string, error)) error {
	if l.where != me.where || l.id == me.id {
		return nil
	}
	seen, err := ask(own(fmt.Sprintf(askLeft, l.id)))
	if err != nil || len(seen) != 1 || !l.is(seen[0]) {
		return err
	}
	_, err = ask(own(fmt.Sprintf("KILL %d", l.id)))
	return err
}

// is reports whether the text that the server shows, which may have lost its end, is the statement that was left
// behind.
func (l leftover) is(text string) bool {
	text = strings.TrimSpace(text)
	return sqltext.Own(text) && (strings.HasPrefix(l.sql, text) || strings.HasPrefix(text, l.sql))
}
