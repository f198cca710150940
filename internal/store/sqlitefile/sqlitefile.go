// Package sqlitefile holds the common part of Dyno's SQLite stores: a file of a known kind and
// format. The file is complete from the moment that it has its name. One of another kind or of
// another version is refused and never changed. Its errors say what the user can do. The store
// defines the content of the file.
//
// Files have mode 0600 in a directory of mode 0700. Several processes may use one at a time.
package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Patience is how long a process waits for another one's write. A write takes milliseconds, so a longer wait means a
// stopped process.
const Patience = 10 * time.Second

// patience is how long a write waits for those of its own process before it: Dyno writes the same again each minute.
const patience = time.Minute

// Format is a kind of files.
type Format struct {
	What    string // how messages call it: "ledger"
	ID      uint32 // stands in the header of the file, so that no other SQLite file is taken for one
	Version int    // the only one that this program reads: one more whenever SQL or the documents in it change
	SQL     string // makes the tables
	// Added makes tables and indexes that files of Version may lack, because they came later, each IF NOT EXISTS. A
	// program that does not know them leaves them alone, so the version stays.
	Added   string
	Empty   string // a statement for a file with nothing in it, "" for none
	Pragmas []string
	Conns   int // of readers at most at a time; who writes has one of its own
}

// maxLog is how large a write-ahead log may be for longer than until the next maintenance: SQLite begins it again only
// when nobody reads, so readers that overlap would have it grow without end.
const maxLog = 64 << 20

// Connect returns a pool on a file that is there; no connection is made yet.
func (f *Format) Connect(path string) (*sql.DB, error) {
	q := url.Values{
		// not "ro" even to read: the first reader of a write-ahead log makes the index file beside it
		"mode": {"rw"},
		// a transaction that would have to upgrade its lock fails at once, whatever the patience
		"_txlock": {"immediate"},
		"_pragma": append([]string{
			fmt.Sprintf("busy_timeout(%d)", Patience.Milliseconds()), // first: the others may wait
			"foreign_keys(ON)",
			fmt.Sprintf("journal_size_limit(%d)", maxLog),
		}, f.Pragmas...),
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(f.Conns)
	db.SetMaxIdleConns(f.Conns)
	return db, nil
}

// open opens a file that is there and has this program's format.
func (f *Format) open(ctx context.Context, path string) (*sql.DB, error) {
	if err := f.CheckHeader(path); err != nil {
		return nil, err
	}
	db, err := f.Connect(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.VersionOf(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if f.Added != "" {
		if _, err := db.ExecContext(ctx, f.Added); err != nil { // writes only where something is missing
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// create makes a file without content under another name and then gives it its own, so that a file of that name is
// always complete: one that is empty or cut short is damaged, not new. When another process was faster, its file stays.
func (f *Format) create(ctx context.Context, path string) error {
	dir := filepath.Dir(path)
	// Only the store's own directory is closed: what is above it may hold other things, such as data of a server that
	// runs as another user.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, filepath.Base(path)+".new-") // mode 0600
	if err != nil {
		return err
	}
	tmp := file.Name()
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(tmp + suffix)
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	db, err := f.Connect(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(f.lay(ctx, db), db.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(platform.SyncDir(d), d.Close())
}

// lay makes the format in an empty file.
func (f *Format) lay(ctx context.Context, db *sql.DB) error {
	if f.Empty != "" {
		if _, err := db.ExecContext(ctx, f.Empty); err != nil {
			return err
		}
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot hold a write-ahead log (journal mode %s)", mode)
	}
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", f.ID),
		"CREATE TABLE migration (version INTEGER PRIMARY KEY)", // under the name that older programs look for
		fmt.Sprintf("INSERT INTO migration VALUES (%d)", f.Version),
		f.SQL,
		f.Added,
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// VersionOf returns the version of a file. One that is not this program's is an error that is ErrOlder or ErrNewer.
func (f *Format) VersionOf(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (v int, err error) {
	switch err = q.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migration").Scan(&v); {
	case err != nil:
		return 0, err
	case v == 0:
		return 0, fmt.Errorf("%w: it does not tell the version of its format", ErrCorrupt)
	case v < f.Version:
		return v, fmt.Errorf("%w: it has format %d, this program reads format %d only", ErrOlder, v, f.Version)
	case v > f.Version:
		return v, fmt.Errorf("%w: it has format %d, this program reads format %d only", ErrNewer, v, f.Version)
	}
	return v, nil
}

// Has reports whether a file has a table: those of Added may be missing in one that is only examined.
func Has(ctx context.Context, db *sql.DB, table string) (has bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?", table).
		Scan(&has)
	return has, err
}

// CheckHeader looks at the first bytes of the file, the header of https://www.sqlite.org/fileformat.html section 1.3,
// so that an empty, foreign or garbled file is told apart before SQLite would start a new database in it.
func (f *Format) CheckHeader(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var h [100]byte
	switch n, err := io.ReadFull(file, h[:]); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has only %d bytes", ErrCorrupt, n)
	case err != nil:
		return err
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w: its first bytes are not those of a SQLite file", ErrCorrupt)
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != f.ID {
		return fmt.Errorf("%w %s (application id %#x)", ErrForeign, f.What, id)
	}
	return nil
}

// Health is what Examine says of a file. Its tags are those of the reports that hold it.
type Health struct {
	Path     string `json:"path"`
	Exists   bool   `json:"exists"`
	Bytes    int64  `json:"bytes"`     // of the file
	LogBytes int64  `json:"log_bytes"` // of its write-ahead log
	Version  int    `json:"version"`   // of the format, 0 when it cannot be read
}

// Examine looks at what is around the rows of a file and opens it, for the caller to look at them and to close it. It
// changes nothing, and tells with problem what is wrong. Without a database there is nothing more to look at; the error
// is for what could not be done.
func (f *Format) Examine(
	ctx context.Context, path string, problem func(string, ...any),
) (h Health, db *sql.DB, err error) {
	h.Path = path
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := Orphan(path); err != nil {
			problem("%v", err)
		}
		return h, nil, nil
	} else if err != nil {
		return h, nil, err
	}
	h.Exists, h.Bytes = true, st.Size()
	if st, err := os.Stat(path + "-wal"); err == nil {
		h.LogBytes = st.Size()
	}
	if err := f.CheckHeader(path); errors.Is(err, fs.ErrPermission) {
		return h, nil, err
	} else if err != nil {
		problem("%v", err)
		return h, nil, nil
	}
	if db, err = f.Connect(path); err != nil {
		return h, nil, err
	}
	if h.Version, err = f.VersionOf(ctx, db); errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder) {
		db.Close()
		return h, nil, err
	} else if err != nil {
		problem("format: %v", err)
	}
	return h, db, nil
}

// File is one file in use. It is safe for concurrent use; its zero value is not usable, see New.
type File struct {
	format *Format
	path   string
	turn   chan struct{} // of the one who writes: SQLite lets one write at a time

	patience time.Duration // patience but in tests

	mu     sync.Mutex // guards what follows
	db     *sql.DB    // of readers; nil until there is a file and it was needed
	writer *sql.DB    // one connection, which readers cannot take; there with db
	closed bool
}

// New names a file, by an absolute path, and touches nothing.
func New(format *Format, path string) *File {
	return &File{format: format, path: path, turn: make(chan struct{}, 1), patience: patience}
}

// Path returns the name of the file.
func (f *File) Path() string { return f.path }

// DB returns the database to read, opening it and with create also making the file. It returns nil without an error
// when there is no file and none is to be made.
func (f *File) DB(ctx context.Context, create bool) (*sql.DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("%s: %w", f.format.What, ErrClosed)
	}
	if f.db != nil {
		return f.db, nil
	}
	_, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := Orphan(f.path); err != nil {
			return nil, err
		}
		if !create {
			return nil, nil
		}
		if err := f.format.create(ctx, f.path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	db, err := f.format.open(ctx, f.path)
	if err != nil {
		return nil, err
	}
	writer, err := f.format.Connect(f.path)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	writer.SetMaxOpenConns(1)
	f.db, f.writer = db, writer
	return db, nil
}

// Write runs do in one transaction, which is stored when Write returns nil. It makes the file when there is none.
func (f *File) Write(ctx context.Context, do func(*sql.Tx) error) error {
	return f.inTurn(ctx, func(conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			_ = tx.Rollback() // the first error counts
			return err
		}
		return tx.Commit()
	})
}

// inTurn runs do with the connection that writes.
func (f *File) inTurn(ctx context.Context, do func(*sql.Conn) error) error {
	if _, err := f.DB(ctx, true); err != nil {
		return err
	}
	wait, cancel := context.WithTimeoutCause(ctx, f.patience,
		fmt.Errorf("%w: other writes took %v", ErrBusy, f.patience))
	defer cancel()
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-wait.Done():
		return context.Cause(wait)
	}
	conn, err := f.writer.Conn(wait)
	if err != nil {
		return cmp.Or(context.Cause(wait), err)
	}
	defer conn.Close()
	return do(conn)
}

// ShortenLog empties the write-ahead log when it is larger than maxLog. Nobody writes meanwhile, so all who begin to
// read have all of it and it is enough to wait for those who read now, which has an end: with ErrBusy the log is as
// long as before.
func (f *File) ShortenLog(ctx context.Context) error {
	st, err := os.Stat(f.path + "-wal")
	if err != nil || st.Size() <= maxLog {
		return nil //nolint:nilerr // without a log there is nothing to do
	}
	return f.inTurn(ctx, func(conn *sql.Conn) error {
		for range 3 { // each waits for Patience
			var busy, frames, moved int
			err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
			if err != nil || busy == 0 {
				return err
			}
		}
		return fmt.Errorf("%w: readers do not let the write-ahead log of %d bytes begin again", ErrBusy, st.Size())
	})
}

// Close ends the use of the file. A second call does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.db == nil {
		return nil
	}
	db := f.db
	f.db = nil
	return errors.Join(db.Close(), f.writer.Close())
}

// Orphan returns an error, which is ErrCorrupt, when a file that is missing has left its write-ahead log: something was
// there.
func Orphan(path string) error {
	there := func(name string) bool { _, err := os.Stat(name); return err == nil }
	if there(path+"-wal") && !there(path) { // in this order, for another process may be making it
		return errOrphanLog
	}
	return nil
}
