// Package ledger keeps everything but the metrics: the inventory of targets, runs, diagnoses with their findings, the journal of
// actions, events and any other document with an id. It is one SQLite file.
//
// A value is stored as the JSON document that the rest of Dyno exchanges; the columns beside it are copies of the parts one looks
// it up by. Several processes may use one ledger at a time.
//
// Durability: a Put has reached the disk when it returns (WAL with synchronous=FULL, one fsync per transaction), so an entry of
// the journal survives kill -9 and a power cut from before the first statement is sent to a server. Writes are rare, a few per
// command, so the price does not matter.
//
// Nothing is ever re-created in silence: a missing ledger comes into being complete, at the first write, and a damaged one is an
// error that says what to do.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// patience is how long a process waits for another one's write. A write takes milliseconds, so a longer wait means a stopped
// process or a dying disk.
const patience = 10 * time.Second

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	path string

	mu     sync.Mutex // guards db and closed
	db     *sql.DB    // nil until there is a file
	closed bool
}

// Open opens the ledger at path. When there is no file it succeeds, reads find nothing and the first write creates the file
// (mode 0600) and its directory (0700): a command that only looks leaves no trace. Errors: ErrCorrupt, ErrNewer, ErrForeign,
// ErrBusy, ErrDenied.
func Open(ctx context.Context, path string) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l := &Ledger{path: path}
	if _, err := l.open(ctx, false); err != nil {
		return nil, explain("open ledger", path, err)
	}
	return l, nil
}

// Path returns the absolute name of the ledger's file.
func (l *Ledger) Path() string { return l.path }

// Close ends the use of the ledger. A second call does nothing.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.db == nil {
		return nil
	}
	db := l.db
	l.db = nil
	return explain("close ledger", l.path, db.Close())
}

// open returns the database, opening and with create also making the file. It returns nil without an error when there is no
// file and none is to be made.
func (l *Ledger) open(ctx context.Context, make bool) (*sql.DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if l.db != nil {
		return l.db, nil
	}
	_, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !make:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		if err := create(ctx, l.path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	if err := checkHeader(l.path); err != nil {
		return nil, err
	}
	db, err := connect(l.path, "rw")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l.db = db
	return db, nil
}

// connect returns a pool on the file; no connection is made yet. mode is SQLite's: "rw", "rwc" or "ro".
func connect(path, mode string) (*sql.DB, error) {
	q := url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"}, // a transaction that would have to upgrade its lock fails at once, whatever the patience
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), // first: the others may wait
			"synchronous(FULL)",
			"foreign_keys(ON)",
		},
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4) // readers do not wait for the writer
	db.SetMaxIdleConns(4)
	return db, nil
}

// create makes an empty ledger under another name and then gives it its own, so that a file of that name is always complete: one
// that is empty or cut short is damaged, not new. When another process was faster, its file stays.
func create(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path + "-wal"); err == nil {
		return errOrphanLog
	}
	dir := filepath.Dir(path)
	// Only the ledger's own directory is closed: what is above it may hold other things, such as data of a server that runs as
	// another user.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new-") // mode 0600
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(tmp + suffix)
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	db, err := connect(tmp, "rw")
	if err != nil {
		return err
	}
	if err := errors.Join(lay(ctx, db), db.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write runs f in one transaction, which is on the disk when write returns nil.
func (l *Ledger) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	db, err := l.open(ctx, true)
	if err != nil {
		return explain(op, l.path, err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return explain(op, l.path, err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error counts
		return explain(op, l.path, err)
	}
	return explain(op, l.path, tx.Commit())
}

// one returns the value that a query for a single document finds. what and id are for the error when there is none.
func one[T any](ctx context.Context, l *Ledger, what, id, query string, args ...any) (T, error) {
	var v T
	op := "read " + what + " " + id
	db, err := l.open(ctx, false)
	if err != nil {
		return v, explain(op, l.path, err)
	}
	if db == nil {
		return v, &NotFoundError{What: what, ID: id}
	}
	var doc []byte
	switch err := db.QueryRowContext(ctx, query, args...).Scan(&doc); {
	case errors.Is(err, sql.ErrNoRows):
		return v, &NotFoundError{What: what, ID: id}
	case err != nil:
		return v, explain(op, l.path, err)
	}
	return v, explain(op, l.path, decode(doc, &v))
}

// list returns the values that a query for documents finds; scan may be nil when the query selects the document alone.
func list[T any](ctx context.Context, l *Ledger, what string, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	op := "read " + what
	db, err := l.open(ctx, false)
	if err != nil || db == nil {
		return nil, explain(op, l.path, err)
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(op, l.path, err)
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
			return nil, explain(op, l.path, err)
		}
		vs = append(vs, v)
	}
	return vs, explain(op, l.path, rows.Err())
}

// decode reads a document. One that does not parse was not written by us.
func decode(doc []byte, v any) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return fmt.Errorf("%w: document does not parse: %w", errDamaged, err)
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
