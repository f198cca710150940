// Package access keeps who may use the page and the API: users with a role each, their sessions, API tokens, the token of the first
// run, and the audit log. It is one SQLite file, mode 0600 in a directory of mode 0700.
//
// Nothing in the file lets anybody in: passwords are kept as argon2id hashes, the secrets of sessions and tokens, which are 256 random
// bits, as SHA-256 hashes. Several processes may use one file at a time: `dyno user` changes what a running `dyno serve` sees at once.
//
// The rules that need no file are pure and have a file each: roles and names, passwords, secrets, and the pauses between logins.
package access

import (
	"context"
	"database/sql"
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

// patience is how long a process waits for another one's write.
const patience = 10 * time.Second

// Ends of sessions, see OWASP's Session Management Cheat Sheet: an idle one and an absolute one.
const (
	Idle     = 12 * time.Hour
	Absolute = 7 * 24 * time.Hour
)

// Options change what is usual; the zero value is.
type Options struct {
	Idle     time.Duration    // a session ends this long after its last request; 0 is Idle
	Absolute time.Duration    // a session ends this long after its login; 0 is Absolute
	Now      func() time.Time // the clock; nil is time.Now
}

// Store is an open file. It is safe for concurrent use.
type Store struct {
	path    string
	o       Options
	logins  *throttle
	hashing chan struct{} // as many hashes at a time as it has room: each takes 19 MiB

	mu     sync.Mutex // guards db and closed
	db     *sql.DB    // nil until there is a file
	closed bool
}

// Open opens the file at path. When there is none it succeeds, there are no users, and the first write creates it. Errors: ErrCorrupt,
// ErrNewer, ErrForeign, ErrBusy, ErrDenied.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open users: %w", err)
	}
	if o.Idle <= 0 {
		o.Idle = Idle
	}
	if o.Absolute <= 0 {
		o.Absolute = Absolute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{path: path, o: o, logins: newThrottle(), hashing: make(chan struct{}, 2)}
	if _, err := s.open(ctx, false); err != nil {
		return nil, explain("open users", path, err)
	}
	return s, nil
}

// Path returns the absolute name of the file.
func (s *Store) Path() string { return s.path }

// Close ends the use of the file. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return explain("close users", s.path, db.Close())
}

// open returns the database, opening and with create also making the file. It returns nil without an error when there is no file and
// none is to be made.
func (s *Store) open(ctx context.Context, make bool) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.db != nil {
		return s.db, nil
	}
	_, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(s.path + "-wal"); err == nil { // without its file: users were there, and nobody may be let in for their absence
			return nil, errOrphanLog
		}
		if !make {
			return nil, nil
		}
		if err := create(ctx, s.path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	if err := checkHeader(s.path); err != nil {
		return nil, err
	}
	db, err := connect(s.path, "rw")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db = db
	return db, nil
}

// connect returns a pool on the file; no connection is made yet. mode is SQLite's: "rw" or "rwc".
func connect(path, mode string) (*sql.DB, error) {
	q := url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"}, // a transaction that would have to upgrade its lock fails at once, whatever the patience
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), // first: the others may wait
			"synchronous(FULL)", // who was shut out stays out after a power cut
			"foreign_keys(ON)",
			"secure_delete(ON)",
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

// create makes an empty file under another name and then gives it its own, so that a file of that name is always complete. When
// another process was faster, its file stays.
func create(ctx context.Context, path string) (err error) {
	dir := filepath.Dir(path)
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
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write runs f in one transaction, which is on the disk when write returns nil.
func (s *Store) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	db, err := s.open(ctx, true)
	if err != nil {
		return explain(op, s.path, err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return explain(op, s.path, err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error counts
		return explain(op, s.path, err)
	}
	return explain(op, s.path, tx.Commit())
}

// row reads one row; ErrNotFound when there is none.
func (s *Store) row(ctx context.Context, op, query string, args, dest []any) error {
	db, err := s.open(ctx, false)
	if err != nil {
		return explain(op, s.path, err)
	}
	if db == nil {
		return ErrNotFound
	}
	err = db.QueryRowContext(ctx, query, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return explain(op, s.path, err)
}

// rows reads rows; none when there is no file.
func rows[T any](ctx context.Context, s *Store, op string, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	db, err := s.open(ctx, false)
	if err != nil || db == nil {
		return nil, explain(op, s.path, err)
	}
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(op, s.path, err)
	}
	defer found.Close()
	var all []T
	for found.Next() {
		var x T
		if err := scan(found, &x); err != nil {
			return nil, explain(op, s.path, err)
		}
		all = append(all, x)
	}
	return all, explain(op, s.path, found.Err())
}

// millis is the form of a time in a column: Unix milliseconds, 0 for no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
