package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// applicationID stands in the header of the file, so that no other SQLite file is taken for a history: "DynH".
const applicationID = 0x44796e48

// migration is one step from a version of the format to the next.
type migration struct {
	name string
	sql  string
}

// migrations returns the steps in order; version n is the format after the first n of them. A step that was released never
// changes: add another. Times are Unix milliseconds.
func migrations() []migration {
	return []migration{
		{"first", `
CREATE TABLE target (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- States: new ones a row each, older ones packed. doc is zstd; times are the moments of the pack, see pack.go.
CREATE TABLE state (target INTEGER NOT NULL REFERENCES target (id), at INTEGER NOT NULL, bytes INTEGER NOT NULL, doc BLOB NOT NULL, PRIMARY KEY (target, at));
CREATE INDEX state_size ON state (at, bytes);
CREATE TABLE pack (id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target (id), first INTEGER NOT NULL, last INTEGER NOT NULL,
	bytes INTEGER NOT NULL, times BLOB NOT NULL, doc BLOB NOT NULL);
CREATE INDEX pack_last ON pack (target, last, first);
CREATE INDEX pack_size ON pack (last, bytes);

-- Classes: what a window was watched, and the figures of each class in it. level is the nominal length in seconds: 60, 3600, 86400.
CREATE TABLE class (id INTEGER PRIMARY KEY, class TEXT NOT NULL, schema TEXT NOT NULL, origin TEXT NOT NULL, sampled INTEGER NOT NULL,
	fingerprint TEXT NOT NULL, UNIQUE (class, schema, origin, sampled));
CREATE TABLE win (target INTEGER NOT NULL REFERENCES target (id), level INTEGER NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL,
	seconds REAL NOT NULL, PRIMARY KEY (target, level, at)) WITHOUT ROWID;
CREATE TABLE figure (target INTEGER NOT NULL, level INTEGER NOT NULL, at INTEGER NOT NULL, class INTEGER NOT NULL REFERENCES class (id),
	n INTEGER NOT NULL, sec REAL NOT NULL, max REAL, p95 REAL, lock REAL, cpu REAL, errors INTEGER, sent INTEGER, examined INTEGER, affected INTEGER,
	scans INTEGER, joins INTEGER, noindex INTEGER, sorted INTEGER, tmp INTEGER, tmpdisk INTEGER,
	PRIMARY KEY (target, level, at, class)) WITHOUT ROWID;

CREATE TABLE plan (target INTEGER NOT NULL REFERENCES target (id), class TEXT NOT NULL, schema TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	hash TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (target, class, schema, first)) WITHOUT ROWID;
CREATE TABLE sample (id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target (id), class TEXT NOT NULL, at INTEGER NOT NULL, sec REAL, doc TEXT NOT NULL);
CREATE INDEX sample_class ON sample (target, class, at);
`},
	}
}

// Version is the format that this program writes, and the newest it reads.
func Version() int { return len(migrations()) }

// lay makes the format in an empty file.
func lay(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil { // before anything is in the file
		return err
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot hold a write-ahead log (journal mode %s)", mode)
	}
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		"CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return migrate(ctx, db)
}

// version returns the format of an open file.
func version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (int, error) {
	var v int
	err := q.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migration").Scan(&v)
	return v, err
}

// migrate brings the file to this program's format. It refuses a newer one. Each step is a transaction, and of several
// processes that start at the same time one does it.
func migrate(ctx context.Context, db *sql.DB) error { return climb(ctx, db, migrations()) }

func climb(ctx context.Context, db *sql.DB, steps []migration) error {
	v, err := version(ctx, db)
	for err == nil && v < len(steps) {
		v, err = step(ctx, db, steps)
	}
	if err != nil {
		return err
	}
	if v > len(steps) {
		return &newerError{file: v, program: len(steps)}
	}
	return nil
}

func step(ctx context.Context, db *sql.DB, steps []migration) (int, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	v, err := version(ctx, tx)
	if err != nil || v >= len(steps) { // another process did it
		return v, err
	}
	s := steps[v]
	v++
	if _, err := tx.ExecContext(ctx, s.sql); err != nil {
		return 0, fmt.Errorf("bring history to format %d (%s): %w", v, s.name, err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO migration VALUES (?, ?, ?)", v, s.name, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return 0, err
	}
	return v, tx.Commit()
}

// checkHeader looks at the first bytes of the file, the header of https://www.sqlite.org/fileformat.html section 1.3, so that
// an empty, foreign or garbled file is told apart before SQLite would start a new database in it.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var h [100]byte
	switch n, err := io.ReadFull(f, h[:]); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has only %d bytes", errDamaged, n)
	case err != nil:
		return err
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w: its first bytes are not those of a SQLite file", errDamaged)
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != applicationID {
		return fmt.Errorf("%w (application id %#x)", errForeign, id)
	}
	return nil
}
