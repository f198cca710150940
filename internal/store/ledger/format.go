package ledger

import "github.com/dyno-perf/dyno/internal/store/sqlitefile"

// format is that of the file. "Dyno" stands in its header.
var format = sqlitefile.Format{
	What: "ledger", ID: 0x44796e6f, Conns: 4,
	Pragmas: []string{"synchronous(FULL)"},
	Version: 4,
	SQL: `
CREATE TABLE serial (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
INSERT INTO serial VALUES (1, 0);
CREATE TABLE target (name TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (id TEXT PRIMARY KEY, target TEXT NOT NULL, workload TEXT NOT NULL, state TEXT NOT NULL, started INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX run_target ON run (target, started);
CREATE TABLE diagnosis (id TEXT PRIMARY KEY, target TEXT NOT NULL, at INTEGER NOT NULL, doc TEXT NOT NULL, snapshot TEXT,
	advice INTEGER NOT NULL);
CREATE INDEX diagnosis_target ON diagnosis (target, at);
CREATE TABLE finding (diagnosis TEXT NOT NULL REFERENCES diagnosis (id) ON DELETE CASCADE, pos INTEGER NOT NULL, id TEXT NOT NULL,
	rule TEXT NOT NULL, severity TEXT NOT NULL, PRIMARY KEY (diagnosis, pos)) WITHOUT ROWID;
CREATE INDEX finding_id ON finding (id);
CREATE TABLE entry (id TEXT PRIMARY KEY, target TEXT NOT NULL, state TEXT NOT NULL, planned INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX entry_target ON entry (target, planned);
CREATE TABLE event (id TEXT PRIMARY KEY, target TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX event_target ON event (target, at);
CREATE TABLE document (id TEXT PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL, about TEXT NOT NULL, at INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX document_kind ON document (kind, at);
CREATE INDEX document_about ON document (about) WHERE about <> '';
CREATE TABLE sighting (target TEXT NOT NULL, finding TEXT NOT NULL, server TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, doc TEXT NOT NULL,
	PRIMARY KEY (target, finding)) WITHOUT ROWID;
CREATE TABLE ignored (target TEXT NOT NULL, finding TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (target, finding)) WITHOUT ROWID;
`, Added: `
CREATE TABLE IF NOT EXISTS incident (id TEXT PRIMARY KEY, target TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS incident_target ON incident (target, began);
CREATE INDEX IF NOT EXISTS incident_began ON incident (began);
`,
}
