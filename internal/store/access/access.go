// Package access stores who may use the web UI and the API: users with one role each, their
// sessions, API tokens, the first-run token, and the audit log. It is one SQLite file, mode 0600 in
// a directory of mode 0700.
//
// Nothing in the file is enough to log in: passwords are stored as argon2id hashes, and the secrets
// of sessions and tokens, which are 256 random bits, as SHA-256 hashes. Several processes may use
// one file at a time: `dyno user` immediately changes what a running `dyno serve` sees.
//
// The rules that need no file are pure and have one file each: roles and names, passwords, secrets,
// and the pauses between logins.
package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

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
	book
	Sessions Sessions
	Tokens   Tokens
	Audit    Audit
	logins   *throttle
	hashing  chan struct{} // as many hashes at a time as it has room: each takes 19 MiB
}

// book is what the parts of a Store share.
type book struct {
	path string
	file *sqlitefile.File
	o    Options
}

// Open opens the file at path. When there is none it succeeds, there are no users, and the first write creates it.
// Errors: ErrCorrupt, ErrOlder, ErrNewer, ErrForeign, ErrBusy, ErrDenied. A file that was lost can be opened, to add
// users again; see HasUsers.
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
	b := book{path, sqlitefile.New(&format, path), o}
	s := &Store{b, Sessions{b}, Tokens{b}, Audit{b}, newThrottle(), make(chan struct{}, 2)}
	if _, err := s.file.DB(ctx, false); err != nil {
		return nil, explain("open users", path, err)
	}
	s.keepMarker(ctx)
	return s, nil
}

// Path returns the absolute name of the file.
func (s *Store) Path() string { return s.path }

// Close ends the use of the file. A second call does nothing.
func (s *Store) Close() error { return explain("close users", s.path, s.file.Close()) }

// write runs f in one transaction, which is on the disk when write returns nil.
func (b book) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	return explain(op, b.path, b.file.Write(ctx, f))
}

// row reads one row; ErrNotFound when there is none.
func (b book) row(ctx context.Context, op, query string, args, dest []any) error {
	db, err := b.file.DB(ctx, false)
	if err != nil {
		return explain(op, b.path, err)
	}
	if db == nil {
		return ErrNotFound
	}
	err = db.QueryRowContext(ctx, query, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return explain(op, b.path, err)
}

// rows reads rows; none when there is no file.
func rows[T any](ctx context.Context, b book, op string, scan func(*sql.Rows, *T) error, query string,
	args ...any,
) ([]T, error) {
	db, err := b.file.DB(ctx, false)
	if err != nil || db == nil {
		return nil, explain(op, b.path, err)
	}
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(op, b.path, err)
	}
	defer found.Close()
	var all []T
	for found.Next() {
		var x T
		if err := scan(found, &x); err != nil {
			return nil, explain(op, b.path, err)
		}
		all = append(all, x)
	}
	return all, explain(op, b.path, found.Err())
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
