package access

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

// applicationID stands in the header of the file, so that no other SQLite file is taken for it: "Dyna".
const applicationID = 0x44796e61

// migration is one step from a version of the format to the next.
type migration struct {
	name string
	sql  string
}

// migrations returns the steps in order; version n is the format after the first n of them. A step that was released never changes: add
// another.
func migrations() []migration {
	return []migration{
		{"first", `
CREATE TABLE user (name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('viewer', 'operator')), password TEXT NOT NULL,
	created INTEGER NOT NULL, changed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE session (hash BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL REFERENCES user (name) ON DELETE CASCADE,
	created INTEGER NOT NULL, seen INTEGER NOT NULL, address TEXT NOT NULL, agent TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX session_user ON session (user, created);
CREATE TABLE token (hash BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE,
	role TEXT NOT NULL CHECK (role IN ('viewer', 'operator')), made_by TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
	used INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE first (only INTEGER PRIMARY KEY CHECK (only = 1), hash BLOB NOT NULL, expires INTEGER NOT NULL);
CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('change', 'minor', 'outcome')),
	who TEXT NOT NULL, via TEXT NOT NULL, address TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL, of INTEGER NOT NULL,
	status INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE INDEX audit_kind ON audit (kind, id);
CREATE INDEX audit_of ON audit (of) WHERE of > 0;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit WHEN CASE OLD.kind
	WHEN 'outcome' THEN EXISTS (SELECT 1 FROM audit WHERE id = OLD.of)
	ELSE (SELECT count(*) FROM audit WHERE kind = OLD.kind AND id > OLD.id) < 20000 END
	BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
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

// migrate brings the file to this program's format. It refuses a newer one. Each step is a transaction, and of several processes that
// start at the same time one does it.
func migrate(ctx context.Context, db *sql.DB) error {
	steps := migrations()
	for {
		v, err := step(ctx, db, steps)
		switch {
		case err != nil:
			return err
		case v == len(steps):
			return nil
		case v > len(steps):
			return &newerError{file: v, program: len(steps)}
		}
	}
}

// step carries out the next step, if any, and returns the version of the file.
func step(ctx context.Context, db *sql.DB, steps []migration) (int, error) {
	const ask = "SELECT coalesce(max(version), 0) FROM migration"
	var v int
	if err := db.QueryRowContext(ctx, ask).Scan(&v); err != nil || v >= len(steps) {
		return v, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, ask).Scan(&v); err != nil || v >= len(steps) { // another process did it
		return v, err
	}
	s := steps[v]
	v++
	if _, err := tx.ExecContext(ctx, s.sql); err != nil {
		return 0, fmt.Errorf("bring users to format %d (%s): %w", v, s.name, err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO migration VALUES (?, ?, ?)", v, s.name, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return 0, err
	}
	return v, tx.Commit()
}

// checkHeader looks at the first bytes of the file, the header of https://www.sqlite.org/fileformat.html section 1.3, so that an empty,
// foreign or garbled file is told apart before SQLite would start a new database in it: one without users lets everybody in.
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
