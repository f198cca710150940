// Package ledger stores everything but the metrics: the inventory of targets, runs, diagnoses with
// their findings, the journal of actions, events, and any other document with an id. It is one
// SQLite file.
//
// A value is stored as the JSON document that the rest of Dyno exchanges. The other columns are
// copies of the parts that searches use. Several processes may use one ledger at a time.
//
// Durability: a Put has reached the disk when it returns (WAL with synchronous=FULL, one fsync per
// transaction). An entry of the journal therefore survives kill -9 and a power cut from before the
// first statement is sent to a server. Writes are rare, a few per command, so the cost does not
// matter.
//
// Nothing is ever re-created silently: a missing ledger is created complete at the first write, and
// a damaged one is an error that says what to do.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	book
	Diagnoses Diagnoses
	Documents Documents
	Events    Events
	Incidents Incidents
	end       clock.Horizon // of Expire: what ages are counted back from
	// mostEvents and mostDiagnoses are bytes, see Limit.
	mostEvents, mostDiagnoses atomic.Int64
}

// book is the file that all parts of a ledger share.
type book struct {
	path string
	file *sqlitefile.File
}

// Open opens the ledger at path. When there is no file it succeeds, reads find nothing and the first write creates the
// file (mode 0600) and its directory (0700): a command that only looks leaves no trace. Errors: ErrCorrupt, ErrNewer,
// ErrForeign, ErrBusy, ErrDenied.
func Open(ctx context.Context, path string) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	b := book{path, sqlitefile.New(&format, path)}
	l := &Ledger{
		book: b, Diagnoses: Diagnoses{b}, Documents: Documents{b}, Events: Events{b}, Incidents: Incidents{b},
	}
	if _, err := l.file.DB(ctx, false); err != nil {
		return nil, explain("open ledger", path, err)
	}
	return l, nil
}

// Path returns the absolute name of the ledger's file.
func (l *Ledger) Path() string { return l.path }

// Close ends the use of the ledger. A second call does nothing.
func (l *Ledger) Close() error { return explain("close ledger", l.path, l.file.Close()) }

// write runs f in one transaction, which is on the disk when write returns nil.
func (b book) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	return explain(op, b.path, b.file.Write(ctx, f))
}

// one returns the value that a query for a single document finds. what and id are for the error when there is none.
func one[T any](ctx context.Context, b book, what, id, query string, args ...any) (T, error) {
	var v T
	op := "read " + what + " " + id
	db, err := b.file.DB(ctx, false)
	if err != nil {
		return v, explain(op, b.path, err)
	}
	if db == nil {
		return v, &NotFoundError{What: what, ID: id}
	}
	var doc []byte
	switch err := db.QueryRowContext(ctx, query, args...).Scan(&doc); {
	case errors.Is(err, sql.ErrNoRows):
		return v, &NotFoundError{What: what, ID: id}
	case err != nil:
		return v, explain(op, b.path, err)
	}
	return v, explain(op, b.path, decode(doc, &v))
}

// list returns the values that a query for documents finds; scan may be nil when the query selects the document alone.
func list[T any](ctx context.Context, b book, what string, scan func(*sql.Rows, *T) error, query string,
	args ...any,
) ([]T, error) {
	op := "read " + what
	db, err := b.file.DB(ctx, false)
	if err != nil || db == nil {
		return nil, explain(op, b.path, err)
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(op, b.path, err)
	}
	defer rows.Close()
	var vs []T
	for rows.Next() {
		var v T
		if scan != nil {
			err = scan(rows, &v)
		} else {
			var doc sql.RawBytes
			if err = rows.Scan(&doc); err == nil {
				err = decode(doc, &v)
			}
		}
		if err != nil {
			return nil, explain(op, b.path, err)
		}
		vs = append(vs, v)
	}
	return vs, explain(op, b.path, rows.Err())
}

// decode reads a document. One that does not parse was not written by us.
func decode(doc []byte, v any) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return fmt.Errorf("%w: document does not parse: %w", sqlitefile.ErrCorrupt, err)
	}
	return nil
}

// millis is the form of a time in a key column: Unix milliseconds, 0 for no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// limit is the form of a bound on rows for SQL: no bound when n is 0 or less.
func limit(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}
