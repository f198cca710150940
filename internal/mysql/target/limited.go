package target

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Limited takes a connection of the target's pool on which the server itself ends a SELECT that takes longer than most,
// where it can (MySQL 5.7, MariaDB 10.1), and on which nothing waits longer than that, and five seconds at most, for a
// table, which EXPLAIN too may have to, nor longer than a second for a row's lock. End it with Discard.
func Limited(ctx context.Context, t *Target, most time.Duration) (*sql.Conn, error) {
	conn, err := t.ReadingConn(ctx)
	if err != nil {
		return nil, err
	}
	seconds := strconv.FormatFloat(most.Seconds(), 'f', -1, 64)
	if !t.Facts().Flavor.IsMariaDB() { // Percona Server 5.6 has a variable of this name, too
		seconds = strconv.FormatInt(most.Milliseconds(), 10)
	}
	for _, l := range []struct{ name, value string }{ // each flavor has its own
		{"innodb_lock_wait_timeout", "1"},
		{"lock_wait_timeout", strconv.Itoa(min(5, max(1, int(most.Seconds()))))},
		{"max_execution_time", strconv.FormatInt(most.Milliseconds(), 10)},
		{"max_statement_time", seconds},
	} {
		if _, has := t.Variable(l.name); !has {
			continue
		}
		if _, err := conn.ExecContext(ctx, sqltext.Tagged("explain", "", "SET SESSION "+l.name+
			" = "+l.value)); err != nil {
			_ = Discard(conn)
			return nil, t.Wrap("limit the time of questions to", err)
		}
	}
	return conn, nil
}

// Held takes a connection of DB that its owner may leave idle for up to a day, where others end after a minute. End it
// with Discard.
func Held(ctx context.Context, t *Target) (*sql.Conn, error) {
	conn, err := t.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, own("SET SESSION wait_timeout = 86400")); err != nil {
		_ = Discard(conn)
		return nil, t.Wrap("hold a connection to", err)
	}
	return conn, nil
}

// Discard ends a connection: with its limits of time it is of no use to others.
func Discard(conn *sql.Conn) error {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}
