package history

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"

	"dyno/internal/class"
	"dyno/internal/sqltext"
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
		err := tx.QueryRowContext(ctx, "SELECT class, fingerprint FROM class WHERE key = ? ORDER BY guessed, id LIMIT 1", key).Scan(&id, &fingerprint)
		if err == nil && sqltext.Key(fingerprint) == sqltext.Key(c.Fingerprint) {
			c.ID, c.Fingerprint = id, fingerprint
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return c, err
	}
	err := tx.QueryRowContext(ctx, "SELECT class FROM class WHERE key = ? AND guessed AND class <> ? LIMIT 1", key, c.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	for _, q := range []string{
		"UPDATE OR IGNORE class SET class = ?1, fingerprint = ?3, guessed = 0 WHERE class = ?2",
		"UPDATE OR IGNORE plan SET class = ?1 WHERE class = ?2 AND ?3 <> ''",
		"UPDATE sample SET class = ?1 WHERE class = ?2 AND ?3 <> ''",
		"INSERT OR REPLACE INTO alias SELECT ?2, ?1 WHERE ?3 <> ''",
	} {
		if _, err := tx.ExecContext(ctx, q, c.ID, id, c.Fingerprint); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Name returns the id that a class has now: ids that it had before, and the server's own digest, lead to it. Others are returned as they are.
func (h *History) Name(ctx context.Context, id string) (string, error) {
	var now string
	err := h.db.QueryRowContext(ctx, "SELECT class FROM alias WHERE id = ?1 UNION ALL SELECT class FROM class WHERE digest = ?1 AND ?1 <> '' LIMIT 1", id).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	if err != nil {
		return id, wrap("read the name of a class", h.path, err)
	}
	return now, nil
}
