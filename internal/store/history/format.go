package history

import "github.com/dyno-perf/dyno/internal/store/sqlitefile"

// format is that of the file. "DynH" stands in its header. Times are Unix milliseconds.
var format = sqlitefile.Format{
	What: "history", ID: 0x44796e48, Conns: 3,
	Empty:   "PRAGMA auto_vacuum = INCREMENTAL",
	Pragmas: []string{"synchronous(NORMAL)", "cache_size(-4000)"},
	Version: 1,
	SQL: `
-- size is about what the figures of a target and the classes that it brought take, in bytes, kept up by triggers: see
-- shares.
CREATE TABLE target (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL DEFAULT 0);

-- States: new ones a row each, older ones packed. doc is zstd; times are the moments of the pack, see pack.go. What the
-- states of each target take is read from the indexes alone.
CREATE TABLE state (target INTEGER NOT NULL REFERENCES target (id), at INTEGER NOT NULL, bytes INTEGER NOT NULL,
	doc BLOB NOT NULL, PRIMARY KEY (target, at));
CREATE INDEX state_size ON state (at, target, bytes);
CREATE TABLE pack (id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target (id), first INTEGER NOT NULL,
	last INTEGER NOT NULL, bytes INTEGER NOT NULL, times BLOB NOT NULL, doc BLOB NOT NULL);
CREATE INDEX pack_last ON pack (target, last, first, bytes);
CREATE INDEX pack_size ON pack (last, bytes);

-- Classes: what a window was watched, and the figures of each class in it. level is the nominal length in seconds: 60,
-- 3600, 86400. key is a hash of class.Key of the fingerprint, which is the same however a statement is spelled;
-- spellings of one statement may be many: which are guessed, and which was first, is read from the index alone. guessed
-- is 1 while the fingerprint is not known to be of a statement as it was written. alias leads from ids that a class had
-- before. target is the one that it counts as.
CREATE TABLE class (id INTEGER PRIMARY KEY, class TEXT NOT NULL, schema TEXT NOT NULL, origin TEXT NOT NULL,
	sampled INTEGER NOT NULL, fingerprint TEXT NOT NULL, key INTEGER NOT NULL, guessed INTEGER NOT NULL,
	digest TEXT NOT NULL, target INTEGER NOT NULL, UNIQUE (class, schema, origin, sampled));
CREATE INDEX class_key ON class (key, guessed) WHERE key <> 0;
CREATE TABLE alias (id TEXT PRIMARY KEY, class TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE win (target INTEGER NOT NULL REFERENCES target (id), level INTEGER NOT NULL, at INTEGER NOT NULL,
	until INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (target, level, at)) WITHOUT ROWID;
CREATE TABLE figure (target INTEGER NOT NULL, level INTEGER NOT NULL, at INTEGER NOT NULL, class INTEGER NOT NULL,
	n INTEGER NOT NULL, sec REAL NOT NULL, max REAL, p95 REAL, lock REAL, cpu REAL, errors INTEGER, sent INTEGER,
	examined INTEGER, affected INTEGER, scans INTEGER, joins INTEGER, noindex INTEGER, sorted INTEGER,
	tmp INTEGER, tmpdisk INTEGER, PRIMARY KEY (target, level, at, class)) WITHOUT ROWID;

-- The schema of a class counts twice in the size of its target: it is in an index, too.
CREATE TRIGGER figure_new AFTER INSERT ON figure BEGIN
	UPDATE target SET size = size + 100 WHERE id = NEW.target; END;
CREATE TRIGGER figure_gone AFTER DELETE ON figure BEGIN UPDATE target SET size = size - 100 WHERE id = OLD.target; END;
CREATE TRIGGER class_new AFTER INSERT ON class BEGIN
	UPDATE target SET size = size + 250 + octet_length(NEW.fingerprint) + 2 * octet_length(NEW.schema)
	WHERE id = NEW.target; END;
CREATE TRIGGER class_gone AFTER DELETE ON class BEGIN
	UPDATE target SET size = size - 250 - octet_length(OLD.fingerprint) - 2 * octet_length(OLD.schema)
	WHERE id = OLD.target; END;
CREATE TRIGGER class_named AFTER UPDATE OF fingerprint ON class
	BEGIN UPDATE target SET size = size + octet_length(NEW.fingerprint) - octet_length(OLD.fingerprint)
	WHERE id = NEW.target; END;

-- What the plans and the examples of a target take, the newest first, is read from an index alone. A class that gets
-- another id takes its own along.
CREATE TABLE plan (target INTEGER NOT NULL REFERENCES target (id), class TEXT NOT NULL, schema TEXT NOT NULL,
	first INTEGER NOT NULL, last INTEGER NOT NULL, hash TEXT NOT NULL, doc TEXT NOT NULL, bytes INTEGER NOT NULL,
	PRIMARY KEY (target, class, schema, first)) WITHOUT ROWID;
CREATE INDEX plan_last ON plan (target, last, bytes);
CREATE INDEX plan_of ON plan (class);
CREATE TABLE sample (id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target (id), class TEXT NOT NULL,
	at INTEGER NOT NULL, sec REAL, doc TEXT NOT NULL, bytes INTEGER NOT NULL);
CREATE INDEX sample_class ON sample (target, class, at);
CREATE INDEX sample_last ON sample (target, at, bytes);
CREATE INDEX sample_of ON sample (class);
`, // States that incidents keep beyond the retention of others: doc is a record of pack.go, compressed.
	Added: `
CREATE TABLE IF NOT EXISTS pinned (target INTEGER NOT NULL REFERENCES target (id), at INTEGER NOT NULL,
	incident TEXT NOT NULL, bytes INTEGER NOT NULL, doc BLOB NOT NULL, PRIMARY KEY (target, at, incident));
CREATE INDEX IF NOT EXISTS pinned_incident ON pinned (incident, at, target, bytes);
-- Distributions of the times of statements, of the windows and classes of figure; class is 0 for all statements of the
-- server. sec is of how much of the window there is one, own how many statements of the server's are Dyno's, bins what
-- package sketch writes, NULL where there is none. They go with the figures and windows that they are of.
CREATE TABLE IF NOT EXISTS spread (target INTEGER NOT NULL, level INTEGER NOT NULL, at INTEGER NOT NULL,
	class INTEGER NOT NULL, sec REAL NOT NULL, own INTEGER NOT NULL, origin TEXT NOT NULL, reason TEXT NOT NULL,
	bins BLOB, PRIMARY KEY (target, level, at, class)) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS spread_new AFTER INSERT ON spread BEGIN
	UPDATE target SET size = size + 80 + ifnull(length(NEW.bins), 0) WHERE id = NEW.target; END;
CREATE TRIGGER IF NOT EXISTS spread_grown AFTER UPDATE OF bins ON spread BEGIN
	UPDATE target SET size = size + ifnull(length(NEW.bins), 0) - ifnull(length(OLD.bins), 0)
	WHERE id = NEW.target; END;
CREATE TRIGGER IF NOT EXISTS spread_gone AFTER DELETE ON spread BEGIN
	UPDATE target SET size = size - 80 - ifnull(length(OLD.bins), 0) WHERE id = OLD.target; END;
CREATE TRIGGER IF NOT EXISTS spread_of_figure AFTER DELETE ON figure BEGIN
	DELETE FROM spread WHERE target = OLD.target AND level = OLD.level AND at = OLD.at AND class = OLD.class; END;
CREATE TRIGGER IF NOT EXISTS spread_of_win AFTER DELETE ON win BEGIN
	DELETE FROM spread WHERE target = OLD.target AND level = OLD.level AND at = OLD.at AND class = 0; END;
` + lockSQL,
}
