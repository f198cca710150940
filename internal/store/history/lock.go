package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
)

// lockSQL makes the table of deadlocks and lock waits. It came after the first files of this format: a program that
// does not know it leaves it alone, and a file without it gets it when it is opened to be written.
const lockSQL = `
-- Deadlocks (kind 1), lock waits (2) and deadlocks that were missed (3). key is the id within a kind: the same seen
-- again replaces the one before. pairs are the classes of doc, see lock.Pair. Statements with their literals are in doc
-- alone.
CREATE TABLE IF NOT EXISTS lock (id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target (id),
	kind INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, bytes INTEGER NOT NULL,
	pairs TEXT NOT NULL, doc TEXT NOT NULL, UNIQUE (target, kind, key));
CREATE INDEX IF NOT EXISTS lock_at ON lock (target, at, kind, until, bytes);
`

// Kinds of rows of table lock.
const (
	lockDeadlock = 1
	lockWait     = 2
	lockMissed   = 3
)

// longestLock bounds one of them, in bytes. What is longer loses statements, see shorter.
const longestLock = 128 << 10

// LockStore is the deadlocks and lock waits of a History.
type LockStore struct{ h *History }

// lockRow is what is kept of one.
type lockRow struct {
	kind      int
	key       string
	at, until time.Time
	pairs     []lock.Pair
	doc       any
}

// Put keeps what was found of the locks of a target: what was kept before under the same id is replaced, and keeps
// its time.
func (x *LockStore) Put(ctx context.Context, target string, seen lock.Seen, waits []lock.Wait) error {
	h := x.h
	const op = "store locks"
	if target == "" {
		return errors.New(op + ": there is no target")
	}
	var rows []lockRow
	for _, d := range seen.Deadlocks {
		rows = append(rows, lockRow{lockDeadlock, d.ID, d.At, d.At, d.Pairs(), d})
	}
	for _, m := range seen.Missed {
		rows = append(rows, lockRow{lockMissed, fmt.Sprint(m.To.UnixMilli()), m.From, m.To, nil, m})
	}
	for _, w := range waits {
		pairs := w.Pairs
		w.Pairs = nil // kept once
		rows = append(rows, lockRow{lockWait, w.ID, w.Begin, w.End, pairs, w})
	}
	if len(rows) == 0 {
		return nil
	}
	return h.add(ctx, op, func(tx *sql.Tx) error {
		t, err := h.target(ctx, tx, target)
		if err != nil {
			return err
		}
		for _, r := range rows {
			doc, pairs, err := r.encode()
			for _, keep := range []int{keptStatements, 0} {
				if err == nil && len(doc)+len(pairs) > longestLock {
					r = shorter(r, keep)
					doc, pairs, err = r.encode()
				}
			}
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO lock (target, kind, key, at, until, bytes, pairs, doc)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (target, kind, key) DO UPDATE SET until = excluded.until,
				bytes = excluded.bytes, pairs = excluded.pairs, doc = excluded.doc`,
				t, r.kind, r.key, r.at.UnixMilli(), r.until.UnixMilli(), len(doc)+len(pairs)+len(r.key), string(pairs),
				string(doc)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r lockRow) encode() (doc, pairs []byte, err error) {
	if doc, err = document(r.doc); err != nil {
		return nil, nil, err
	}
	if r.pairs == nil {
		r.pairs = []lock.Pair{}
	}
	pairs, err = document(r.pairs)
	return doc, pairs, err
}

// keptStatements is of how many sessions one that is too long keeps the statements: those that waited longest.
const keptStatements = 5

// shorter returns a row that has the statements of the first sessions and pairs alone. If it is to keep none, it has
// those sessions and pairs alone, without statements, and of a deadlock the first lock of each kind. The changed lists
// are copies.
func shorter(r lockRow, keep int) lockRow {
	first := func(n int) int { return min(n, keptStatements) }
	r.pairs = slices.Clone(r.pairs)
	for i := keep; i < len(r.pairs); i++ { // they are found by the id of the class, see namePairs
		r.pairs[i].BlockingFingerprint, r.pairs[i].BlockedFingerprint = "", ""
	}
	switch d := r.doc.(type) {
	case lock.Wait:
		d.Waiters = slices.Clone(d.Waiters)
		for i := keep; i < len(d.Waiters); i++ {
			d.Waiters[i].SQL, d.Waiters[i].Fingerprint = "", ""
		}
		if keep == 0 {
			d.Root.SQL, d.Root.Fingerprint = "", ""
			n := first(len(d.Waiters))
			d.Left += len(d.Waiters) - n
			d.Waiters = d.Waiters[:n]
			r.pairs = r.pairs[:first(len(r.pairs))]
		}
		r.doc = d
	case lock.Deadlock:
		d.Parties = slices.Clone(d.Parties)
		for i := range d.Parties {
			p := &d.Parties[i]
			if i >= keep {
				p.SQL, p.Fingerprint = "", ""
			}
			if keep == 0 {
				p.Holds, p.Waits = p.Holds[:min(len(p.Holds), 1)], p.Waits[:min(len(p.Waits), 1)]
			}
		}
		r.doc = d
	}
	return r
}

// Locks is what is kept of the locks of a target in a time span.
type Locks struct {
	Deadlocks []lock.Deadlock `json:"deadlocks"` // the latest first
	Waits     []lock.Wait     `json:"waits"`     // the latest first
	Missed    []lock.Missed   `json:"missed"`    // deadlocks of which nothing could be read
	// Counts are of all in the span, also of those beyond the limit of the lists.
	DeadlockCount int    `json:"deadlock_count"`
	WaitCount     int    `json:"wait_count"`
	MissedCount   uint64 `json:"missed_count"`
	// Pairs are the classes that blocked each other, most deadlocks first, then most time.
	Pairs []lock.Pair `json:"pairs"`
	// Truncated says that a list ends before its limit, because it has 8 MiB.
	Truncated bool `json:"truncated,omitzero"`
}

// mostLockBytes bounds the deadlocks and the waits that are returned, in bytes each.
const mostLockBytes = 8 << 20

// mostPairRows bounds the rows whose pairs are summed up, and mostPairs those that are told.
const (
	mostPairRows = 20_000
	mostPairs    = 200
)

// Between returns the deadlocks and waits that touch a time span, as many of each at most. Without anything kept the
// lists are empty.
func (x *LockStore) Between(ctx context.Context, target string, from, to time.Time, most int) (Locks, error) {
	h := x.h
	const op = "read locks"
	out := Locks{Deadlocks: []lock.Deadlock{}, Waits: []lock.Wait{}, Missed: []lock.Missed{}, Pairs: []lock.Pair{}}
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return out, wrap(op, h.path, err)
	}
	const where = " FROM lock WHERE target = ? AND at <= ? AND until >= ? AND kind = ?"
	span := []any{t, to.UnixMilli(), from.UnixMilli()}
	var pairs []lock.Pair
	for _, kind := range []int{lockDeadlock, lockWait, lockMissed} {
		n := 0
		args := append(span[:3:3], kind)
		if err := h.db.QueryRowContext(ctx, "SELECT count(*)"+where, args...).Scan(&n); err != nil {
			return out, wrap(op, h.path, err)
		}
		limit := most
		switch kind {
		case lockDeadlock:
			out.DeadlockCount = n
		case lockWait:
			out.WaitCount = n
		default:
			limit = 1000
		}
		if n == 0 {
			continue
		}
		const order = " ORDER BY at DESC, id DESC LIMIT ?"
		sizes, err := query(ctx, h.db, func(r *sql.Rows, n *int) error { return r.Scan(n) }, "SELECT bytes"+where+order,
			append(args, limit)...)
		if err != nil {
			return out, wrap(op, h.path, err)
		}
		sum := 0
		for i, size := range sizes {
			if sum += size; sum > mostLockBytes {
				limit, out.Truncated = i, true
				break
			}
		}
		if _, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
			var doc, p []byte
			if err := r.Scan(&doc, &p); err != nil {
				return err
			}
			return out.take(kind, doc, p)
		}, "SELECT doc, pairs"+where+order, append(args, limit)...); err != nil {
			return out, wrap(op, h.path, err)
		}
		if kind == lockMissed {
			continue
		}
		if _, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
			var p []byte
			var some []lock.Pair
			if err := r.Scan(&p); err != nil {
				return err
			}
			if err := decode(p, &some); err != nil {
				return err
			}
			if pairs = append(pairs, some...); len(pairs) > 1000 {
				pairs = lock.Sum(pairs)
			}
			return nil
		}, "SELECT pairs"+where+" ORDER BY at DESC LIMIT ?", append(args, mostPairRows)...); err != nil {
			return out, wrap(op, h.path, err)
		}
	}
	for _, m := range out.Missed {
		out.MissedCount += m.Count
	}
	pairs = lock.Sum(pairs)
	out.Pairs = append(out.Pairs, pairs[:min(len(pairs), mostPairs)]...)
	return out, namePairs(ctx, h, out.Pairs)
}

// Deadlock returns one deadlock of a target. Errors: ErrNotFound.
func (x *LockStore) Deadlock(ctx context.Context, target, id string) (d lock.Deadlock, err error) {
	h := x.h
	const op = "read deadlock"
	t, err := h.target(ctx, nil, target)
	if err != nil {
		return d, wrap(op, h.path, err)
	}
	var doc []byte
	switch err := h.db.QueryRowContext(ctx, "SELECT doc FROM lock WHERE target = ? AND kind = ? AND key = ?", t,
		lockDeadlock, id).Scan(&doc); {
	case errors.Is(err, sql.ErrNoRows):
		return d, fmt.Errorf("deadlock %q of %q: %w", id, target, ErrNotFound)
	case err != nil:
		return d, wrap(op, h.path, err)
	}
	return d, wrap(op, h.path, decode(doc, &d))
}

// take adds a row.
func (l *Locks) take(kind int, doc, pairs []byte) error {
	switch kind {
	case lockDeadlock:
		var d lock.Deadlock
		if err := decode(doc, &d); err != nil {
			return err
		}
		l.Deadlocks = append(l.Deadlocks, d)
	case lockWait:
		var w lock.Wait
		if err := decode(doc, &w); err != nil {
			return err
		}
		if err := decode(pairs, &w.Pairs); err != nil {
			return err
		}
		if w.Waiters == nil {
			w.Waiters = []lock.Waiter{}
		}
		l.Waits = append(l.Waits, w)
	default:
		var m lock.Missed
		if err := decode(doc, &m); err != nil {
			return err
		}
		l.Missed = append(l.Missed, m)
	}
	return nil
}

// namePairs fills in the fingerprints of pairs that are not known where they were seen.
func namePairs(ctx context.Context, h *History, pairs []lock.Pair) error {
	var ids []string
	for _, p := range pairs {
		if p.Blocking != "" && p.BlockingFingerprint == "" {
			ids = append(ids, p.Blocking)
		}
		if p.Blocked != "" && p.BlockedFingerprint == "" {
			ids = append(ids, p.Blocked)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	prints := map[string]string{}
	if _, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
		var id, text string
		err := r.Scan(&id, &text)
		prints[id] = text
		return err
	}, "SELECT class, fingerprint FROM class WHERE class IN (SELECT value FROM json_each(?)) ORDER BY guessed DESC",
		string(list)); err != nil {
		return wrap("read locks", h.path, err)
	}
	for i := range pairs {
		p := &pairs[i]
		if p.BlockingFingerprint == "" {
			p.BlockingFingerprint = prints[p.Blocking]
		}
		if p.BlockedFingerprint == "" {
			p.BlockedFingerprint = prints[p.Blocked]
		}
	}
	return nil
}
