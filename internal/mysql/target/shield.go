package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/mysql/wire"
)

// shield runs a call of the driver's, which takes the shape of packets on trust and panics when a server sends others:
// the connection is lost then, and nothing else. It has to be below database/sql, which a panic leaves locked.
func shield[T any](nc net.Conn, call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			nc.Close() // what the driver's own Close would do next is anybody's guess
			err = fmt.Errorf("%w: malformed packet: %v", mysql.ErrInvalidConn, p)
		}
	}()
	v, err = call()
	brief(err)
	return v, err
}

// brief cuts what a server says in an error to a length that none of them reaches: errors are kept and told again.
// MYSQL_ERRMSG_SIZE is 512.
func brief(err error) {
	if err == nil {
		return
	}
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		e.Message = cut(e.Message)
	}
	if e := (*strconv.NumError)(nil); errors.As(err, &e) { // a value that is no number
		e.Num = cut(e.Num)
	}
}

// cut returns at most wire.MaxMessage bytes of a text, which do not keep the rest.
func cut(s string) string {
	if len(s) <= wire.MaxMessage {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:wire.MaxMessage]), "") + "…"
}

// short returns err, or no more than the beginning of its text where that holds what a server sent.
func short(err error) error {
	if text := err.Error(); len(text) > 4*wire.MaxMessage {
		return errors.New(cut(text))
	}
	return err
}

// next is rows.Next behind a shield.
func next(nc net.Conn, rows driver.Rows, row []driver.Value) error {
	_, err := shield(nc, func() (struct{}, error) { return struct{}{}, rows.Next(row) })
	return err
}

// done is rows.Close behind a shield: it reads what is left.
func done(nc net.Conn, rows driver.Rows) error {
	_, err := shield(nc, func() (struct{}, error) { return struct{}{}, rows.Close() })
	return err
}

// maxRows bounds the rows of one answer to a statement of Dyno's own: a row of a few bytes becomes one of hundreds with
// whoever keeps it. A server with 200 000 tables tells more indexes than that. maxCells bounds the values in the rows
// of a pool, each of which becomes a string.
const (
	maxRows  = 1_000_000
	maxCells = 5_000_000
)

// shieldedRows are the rows of a pool's connection.
type shieldedRows struct {
	driver.Rows
	of          *pooled
	rows, cells int // so far
}

// Next implements driver.Rows.
func (r *shieldedRows) Next(row []driver.Value) error {
	if err := next(r.of.net, r.Rows, row); err != nil {
		return err
	}
	r.rows, r.cells = r.rows+1, r.cells+len(row)
	if times := r.of.times; times > 0 && (r.rows > times*maxRows || r.cells > times*maxCells) {
		r.of.net.Close() // reading the rest would be what is to be avoided
		return fmt.Errorf("%w: more than %d rows or %d values", errTooLong, times*maxRows, times*maxCells)
	}
	return nil
}

// Close implements driver.Rows.
func (r *shieldedRows) Close() error {
	err := done(r.of.net, r.Rows)
	if err == nil && r.of.driverConn.IsValid() {
		r.of.settle(settleAfter)
	}
	return err
}

// Ping implements driver.Pinger.
func (p *pooled) Ping(ctx context.Context) error {
	_, err := shield(p.net, func() (struct{}, error) { return struct{}{}, p.driverConn.Ping(ctx) })
	return err
}

// PrepareContext implements driver.ConnPrepareContext. A pool's questions carry their values, so that database/sql
// prepares only what the driver finds too long for that; the driver's own has no shield, and what a server answers to
// it is trusted.
func (p *pooled) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("a question's values are too long")
}

// ResetSession implements driver.SessionResetter.
func (p *pooled) ResetSession(ctx context.Context) error {
	_, err := shield(p.net, func() (struct{}, error) { return struct{}{}, p.driverConn.ResetSession(ctx) })
	return err
}

// BeginTx implements driver.ConnBeginTx.
func (p *pooled) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := shield(p.net, func() (driver.Tx, error) { return p.driverConn.BeginTx(ctx, o) })
	if err != nil {
		return nil, err
	}
	return shieldedTx{tx, p.net}, nil
}

type shieldedTx struct {
	driver.Tx
	nc net.Conn
}

// Commit implements driver.Tx.
func (x shieldedTx) Commit() error {
	_, err := shield(x.nc, func() (struct{}, error) { return struct{}{}, x.Tx.Commit() })
	return err
}

// Rollback implements driver.Tx.
func (x shieldedTx) Rollback() error {
	_, err := shield(x.nc, func() (struct{}, error) { return struct{}{}, x.Tx.Rollback() })
	return err
}
