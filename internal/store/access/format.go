package access

import "github.com/dyno-perf/dyno/internal/store/sqlitefile"

// format is that of the file. "Dyna" stands in its header. Who was shut out stays out after a power cut.
var format = sqlitefile.Format{
	What: "users", ID: 0x44796e61, Conns: 4,
	Pragmas: []string{"synchronous(FULL)", "secure_delete(ON)"},
	Version: 3,
	SQL: `
CREATE TABLE user (name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('viewer', 'operator')), password TEXT NOT NULL,
	created INTEGER NOT NULL, changed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE session (hash BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, user TEXT REFERENCES user (name) ON DELETE CASCADE,
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
CREATE INDEX audit_minor ON audit (who, status BETWEEN 1 AND 399, id) WHERE kind = 'minor';
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit WHEN CASE OLD.kind
	WHEN 'outcome' THEN EXISTS (SELECT 1 FROM audit WHERE id = OLD.of)
	WHEN 'minor' THEN (SELECT count(*) FROM audit WHERE kind = 'minor') <= 20000
	ELSE (SELECT count(*) FROM audit WHERE kind = OLD.kind AND id > OLD.id) < 20000 END
	BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
`,
}
