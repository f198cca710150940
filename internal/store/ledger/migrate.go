package ledger

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

// applicationID stands in the header of the file, so that no other SQLite file is taken for a ledger: "Dyno".
const applicationID = 0x44796e6f

// migration is one step from a version of the format to the next.
type migration struct {
	name string
	sql  string
}

// migrations returns the steps in order; version n is the format after the first n of them. A step that was released never
// changes: add another.
func migrations() []migration {
	return []migration{
		{"first", `
CREATE TABLE serial (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
INSERT INTO serial VALUES (1, 0);
CREATE TABLE target (name TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id TEXT PRIMARY KEY, target TEXT NOT NULL, workload TEXT NOT NULL, state TEXT NOT NULL, started INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX run_target ON run (target, started);
CREATE TABLE diagnosis (id TEXT PRIMARY KEY, target TEXT NOT NULL, at INTEGER NOT NULL, doc TEXT NOT NULL, snapshot TEXT);
CREATE INDEX diagnosis_target ON diagnosis (target, at);
CREATE TABLE finding (diagnosis TEXT NOT NULL REFERENCES diagnosis (id) ON DELETE CASCADE, pos INTEGER NOT NULL, id TEXT NOT NULL,
	rule TEXT NOT NULL, severity TEXT NOT NULL, PRIMARY KEY (diagnosis, pos)) WITHOUT ROWID;
CREATE INDEX finding_id ON finding (id);
CREATE TABLE entry (id TEXT PRIMARY KEY, target TEXT NOT NULL, state TEXT NOT NULL, planned INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX entry_target ON entry (target, planned);
CREATE TABLE event (id TEXT PRIMARY KEY, target TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX event_target ON event (target, at);
CREATE TABLE document (id TEXT PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL, at INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX document_kind ON document (kind, at);
`},
	}
}

// Version is the format that this program writes, and the newest it reads.
func Version() int { return len(migrations()) }

// lay makes the format in an empty file.
func lay(ctx context.Context, db *sql.DB) error {
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
func migrate(ctx context.Context, db *sql.DB) error {
	steps := migrations()
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
		return 0, fmt.Errorf("bring ledger to format %d (%s): %w", v, s.name, err)
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
