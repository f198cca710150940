package access

import (
	"context"
	"database/sql"
	"time"
)

// keptEntries is how many entries of a kind the audit log keeps; the file itself refuses to lose newer ones.
const keptEntries = 20_000

// Entry is one line of the audit log. It never holds a secret.
type Entry struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// a login or what was refused: kept apart, so that a flood of them pushes no change out, nor one user's another's
	Minor  bool   `json:"-"`
	Who    string `json:"who"`             // user, token, "local" without login, "cli"
	Via    string `json:"via"`             // "session", "token", "local", "cli"
	From   string `json:"from"`            // address
	What   string `json:"what"`            // "POST /api/dyno/v1/apply", "login"
	Detail string `json:"detail,omitzero"` // which target, finding, user
	// "done", "refused: …", "failed: …"; missing: it has not ended, or the program died meanwhile
	Outcome string `json:"outcome,omitzero"`
	Status  int    `json:"status,omitzero"` // the answer's
}

// Audit is the log of what was changed, and by whom.
type Audit struct{ book }

// Begin writes down that something is about to be tried, and returns the id for End. Only when it returns nil may it be
// tried.
func (s Audit) Begin(ctx context.Context, e Entry) (id int64, err error) {
	kind := "change"
	if e.Minor {
		kind = "minor"
	}
	err = s.write(ctx, "write audit log", func(tx *sql.Tx) (err error) {
		id, err = enter(ctx, s.o, tx, kind, e)
		return err
	})
	return id, err
}

// enter writes one entry as a part of a transaction.
func enter(ctx context.Context, o Options, tx *sql.Tx, kind string, e Entry) (id int64, err error) {
	r, err := tx.ExecContext(ctx, "INSERT INTO audit (at, kind, who, via, address, what, detail, of, status, "+
		"outcome) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
		millis(o.Now()), kind, clip(e.Who, 80), clip(e.Via, 20), clip(e.From, 64), clip(e.What, 120),
		clip(e.Detail, 1000), e.Status, clip(e.Outcome, 500))
	if err != nil {
		return 0, err
	}
	if id, err = r.LastInsertId(); err != nil {
		return 0, err
	}
	for _, q := range []string{
		"DELETE FROM audit WHERE kind = ?1 AND kind <> 'minor' AND id <= (SELECT id FROM audit WHERE kind = ?1 ORDER " +
			"BY id DESC LIMIT 1 OFFSET ?2)",
		// Of minor ones the oldest of whoever has most: what was done and what was refused count apart, for anybody
		// fails to log in as anybody.
		`DELETE FROM audit WHERE ?1 = 'minor' AND (SELECT count(*) FROM audit WHERE kind = 'minor') > ?2
			AND id = (SELECT min(id) FROM audit WHERE kind = 'minor' GROUP BY who, status BETWEEN 1 AND 399 ORDER BY count(*) DESC, min(id) LIMIT 1)`,
		"DELETE FROM audit WHERE kind = 'outcome' AND of < (SELECT min(id) FROM audit WHERE kind = 'change') AND ?1 " +
			"<> '' AND ?2 > 0",
	} {
		if _, err := tx.ExecContext(ctx, q, kind, keptEntries); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// End writes down how what Begin told of ended.
func (s Audit) End(ctx context.Context, id int64, status int, outcome string) error {
	return s.write(ctx, "write audit log", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO audit (at, kind, who, via, address, what, detail, of, status, "+
			"outcome) VALUES (?, 'outcome', '', '', '', '', '', ?, ?, ?)",
			millis(s.o.Now()), id, status, clip(outcome, 500))
		return err
	})
}

// List returns at most n entries, newest first; with before only those of smaller ids.
func (s Audit) List(ctx context.Context, before int64, n int) ([]Entry, error) {
	return rows(ctx, s.book, "read audit log", func(r *sql.Rows, e *Entry) error {
		var at int64
		var kind string
		err := r.Scan(&e.ID, &at, &kind, &e.Who, &e.Via, &e.From, &e.What, &e.Detail, &e.Status, &e.Outcome)
		e.At, e.Minor = moment(at), kind == "minor"
		return err
	},
		`SELECT a.id, a.at, a.kind, a.who, a.via, a.address, a.what, a.detail, coalesce(o.status, a.status), coalesce(o.outcome, a.outcome)
		FROM audit a LEFT JOIN audit o ON o.of = a.id AND o.of > 0 WHERE a.kind <> 'outcome' AND (?1 <= 0 OR a.id < ?1) ORDER BY a.id DESC LIMIT ?2`, before, n)
}
