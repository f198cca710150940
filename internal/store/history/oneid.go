package history

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"

	"dyno/internal/class"
	"dyno/internal/sqltext"
)

// What finds by key says key <> 0 again: SQLite does not know it of an argument, and would read all classes instead of the index.
const (
	findKey     = "SELECT class, fingerprint FROM class WHERE key = ? AND key <> 0 ORDER BY guessed, id LIMIT 1"
	findGuessed = "SELECT class, fingerprint FROM class WHERE key = ? AND key <> 0 AND guessed AND class <> ? LIMIT 1"
)

// keyOf is what classes of one statement have in common, however it is spelled; never 0.
func keyOf(fingerprint string) int64 {
	h := fnv.New64a()
	h.Write([]byte(sqltext.Key(fingerprint)))
	return int64(h.Sum64() | 1)
}

// named gives a class the id that its statement has here: one whose spelling is only guessed takes the id of the statement as it was written, or the one
// that was guessed before; one whose spelling is known gives its id to those that were guessed.
func named(ctx context.Context, tx *sql.Tx, c class.Class) (class.Class, error) {
	key := keyOf(c.Fingerprint)
	var id, fingerprint string
	if c.Guessed {
		err := tx.QueryRowContext(ctx, findKey, key).Scan(&id, &fingerprint)
		if err == nil && sqltext.Key(fingerprint) == sqltext.Key(c.Fingerprint) {
			c.ID, c.Fingerprint = id, fingerprint
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return c, err
	}
	err := tx.QueryRowContext(ctx, findGuessed, key, c.ID).Scan(&id, &fingerprint)
	if errors.Is(err, sql.ErrNoRows) || err == nil && sqltext.Key(fingerprint) != sqltext.Key(c.Fingerprint) { // a hash is no proof
		return c, nil
	}
	if err != nil {
		return c, err
	}
	for _, do := range []struct {
		sql  string
		args []any
	}{
		{"UPDATE OR IGNORE class SET class = ?, fingerprint = ?, guessed = 0 WHERE class = ?", []any{c.ID, c.Fingerprint, id}},
		{"UPDATE OR IGNORE plan SET class = ? WHERE class = ?", []any{c.ID, id}},
		{"UPDATE sample SET class = ? WHERE class = ?", []any{c.ID, id}},
		{"INSERT OR REPLACE INTO alias (id, class) VALUES (?, ?)", []any{id, c.ID}},
	} {
		if _, err := tx.ExecContext(ctx, do.sql, do.args...); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Name returns the id that a class has now: ids that it had before, and the server's own digest, lead to it. Others are returned as they are.
func (h *History) Name(ctx context.Context, id string) (string, error) {
	var now string
	// A digest is a server's word: it leads to no class of another statement's id.
	err := h.db.QueryRowContext(ctx, `SELECT class FROM (SELECT 1 AS way, class FROM class WHERE class = ?1 UNION ALL SELECT 2, class FROM alias WHERE id = ?1
		UNION ALL SELECT 3, class FROM class WHERE digest = ?1 AND ?1 <> '') ORDER BY way LIMIT 1`, id).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	if err != nil {
		return id, wrap("read the name of a class", h.path, err)
	}
	return now, nil
}
