package history

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"

	"github.com/dyno-perf/dyno/internal/class"
)

// What finds by key says key <> 0 again: SQLite does not know it of an argument, and would read all classes instead of
// the index.
const (
	findKey = "SELECT class, fingerprint, guessed FROM class WHERE key = ? AND key <> 0 ORDER BY guessed, id " +
		"LIMIT 1"
	findGuessed = "SELECT class, fingerprint FROM class WHERE key = ? AND key <> 0 AND guessed = 1 LIMIT 1"
)

// keyOf is what classes of one statement have in common, however it is spelled; never 0.
func keyOf(fingerprint string) int64 {
	h := fnv.New64a()
	h.Write([]byte(class.Key(fingerprint)))
	return int64(h.Sum64() | 1)
}

const (
	findClass    = "SELECT id FROM class WHERE class = ? AND schema = ? AND origin = ? AND sampled = ?"
	renameClass  = "UPDATE OR IGNORE class SET class = ?, fingerprint = ?, guessed = 0 WHERE class = ?"
	renamePlan   = "UPDATE OR IGNORE plan SET class = ? WHERE class = ?"
	renameSample = "UPDATE sample SET class = ? WHERE class = ?"
)

// namer gives many classes their ids within one transaction, which closes its statements.
type namer struct {
	h                         *History
	tx                        *sql.Tx
	target                    int64 // that a class counts as which has no number yet
	guessed, known, find, put *sql.Stmt
}

func newNamer(ctx context.Context, h *History, tx *sql.Tx, target int64) (*namer, error) {
	n := &namer{h: h, tx: tx, target: target}
	for _, x := range []struct {
		to **sql.Stmt
		q  string
	}{
		{&n.guessed, findKey},
		{&n.known, findGuessed},
		{&n.find, findClass},
		{&n.put, "INSERT INTO class (target, class, schema, origin, sampled, fingerprint, key, guessed, digest) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	} {
		var err error
		if *x.to, err = tx.PrepareContext(ctx, x.q); err != nil { //nolint:sqlclosecheck // the transaction closes them
			return nil, err
		}
	}
	return n, nil
}

// number returns the number of a class, giving it one when it has none: that of Others where there is no room for its
// name.
func (n *namer) number(ctx context.Context, c class.Class) (id int64, err error) {
	err = n.find.QueryRowContext(ctx, c.ID, c.Schema, string(c.Origin), c.Sampled).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if c.ID != Others && !mayName(n.h, n.target, c) {
		return n.number(ctx, InOthers(c))
	}
	r, err := n.put.ExecContext(ctx, n.target, c.ID, c.Schema, string(c.Origin), c.Sampled, c.Fingerprint,
		keyOf(c.Fingerprint), c.Guessed, c.Digest)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// name gives a class the id that its statement has here: one whose spelling is only guessed takes the id of the
// statement as it was written, or the one that was guessed before; one whose spelling is known gives its id to those
// that were guessed.
func (n *namer) name(ctx context.Context, c class.Class) (class.Class, error) {
	key := keyOf(c.Fingerprint)
	var id, fingerprint string
	if c.Guessed {
		var guessed bool
		err := n.guessed.QueryRowContext(ctx, key).Scan(&id, &fingerprint, &guessed)
		if err == nil && class.Key(fingerprint) == class.Key(c.Fingerprint) {
			c.ID, c.Fingerprint, c.Guessed = id, fingerprint, guessed
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return c, err
	}
	err := n.known.QueryRowContext(ctx, key).Scan(&id, &fingerprint)
	if errors.Is(err, sql.ErrNoRows) || err == nil && class.Key(fingerprint) != class.Key(c.Fingerprint) {
		// a hash is no proof
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if id == c.ID { // the guess was right
		_, err := n.tx.ExecContext(ctx, "UPDATE class SET guessed = 0 WHERE class = ?", id)
		return c, err
	}
	for _, do := range []struct {
		sql  string
		args []any
	}{
		{renameClass, []any{c.ID, c.Fingerprint, id}},
		{renamePlan, []any{c.ID, id}},
		{renameSample, []any{c.ID, id}},
		{"INSERT OR REPLACE INTO alias (id, class) VALUES (?, ?)", []any{id, c.ID}},
	} {
		if _, err := n.tx.ExecContext(ctx, do.sql, do.args...); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Name returns the id that a class has now: ids that it had before, and the server's own digest, lead to it. Others are
// returned as they are.
func (h *History) Name(ctx context.Context, id string) (string, error) {
	var now string
	// A digest is a server's word: it leads to no class of another statement's id.
	err := h.db.QueryRowContext(ctx,
		`SELECT class FROM (SELECT 1 AS way, class FROM class WHERE class = ?1 UNION ALL SELECT 2, class FROM alias WHERE id = ?1
		UNION ALL SELECT 3, class FROM class WHERE digest = ?1 AND ?1 <> '') ORDER BY way LIMIT 1`, id).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	if err != nil {
		return id, wrap("read the name of a class", h.path, err)
	}
	return now, nil
}
