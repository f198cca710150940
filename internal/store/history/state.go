package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// waiting is a state that is not in the file yet.
type waiting struct {
	target string
	at     int64
	doc    []byte // compressed
	n      uint64 // in which order they came
}

// queue holds the states that wait, in the order in which they came. History.mu guards it.
type queue struct {
	list    []waiting
	bytes   int // of list
	most    int // bytes, as Options.BufferBytes
	put     uint64
	dropped uint64
}

// add takes a state in and gives up others where there is no room.
func (q *queue) add(target string, at int64, doc []byte) {
	q.list = append(q.list, waiting{target, at, doc, q.put})
	q.put++
	q.bytes += len(doc)
	for q.bytes > q.most && len(q.list) > 1 {
		q.giveUp()
	}
}

// giveUp gives up the oldest state of the target that has most of them waiting.
func (q *queue) giveUp() {
	bytes, most := map[string]int{}, ""
	for _, w := range q.list {
		if bytes[w.target] += len(w.doc); bytes[w.target] > bytes[most] {
			most = w.target
		}
	}
	i := slices.IndexFunc(q.list, func(w waiting) bool { return w.target == most })
	q.bytes -= len(q.list[i].doc)
	q.list = slices.Delete(q.list, i, i+1)
	q.dropped++
}

// stored takes those of a batch out; some of them may have been given up meanwhile.
func (q *queue) stored(batch []waiting) {
	last := batch[len(batch)-1].n
	q.list = slices.DeleteFunc(q.list, func(w waiting) bool {
		if w.n <= last {
			q.bytes -= len(w.doc)
		}
		return w.n <= last
	})
}

// PutState keeps a state, which it does not hold on to: Cap it first. A state of the same target
// and millisecond is replaced. It waits, within Options.BufferBytes, to be written together with
// others, by Run each second or by Flush: who observes never waits for the file. StateAt finds it
// at once. Errors: of a state that is none, and ErrClosed.
func (h *History) PutState(s *state.State) error {
	if s.Target == "" || s.At.IsZero() {
		return errors.New("store state: it has no target or no time")
	}
	raw, err := state.Encode(s)
	if err != nil {
		return fmt.Errorf("store state: %w", err)
	}
	doc := h.enc.EncodeAll(raw, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return wrap("store state", h.path, sqlitefile.ErrClosed)
	}
	h.waiting.add(s.Target, s.At.UnixMilli(), doc)
	return nil
}

// Dropped tells how many states were given up because the file could not be written for too long.
func (h *History) Dropped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting.dropped
}

// Flush writes the states that wait.
func (h *History) Flush(ctx context.Context) error {
	select {
	case h.flush <- struct{}{}:
		defer func() { <-h.flush }()
	case <-ctx.Done():
		return wrap("store states", h.path, ctx.Err())
	}
	h.mu.Lock()
	batch := slices.Clone(h.waiting.list)
	h.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	err := h.add(ctx, "store states", func(tx *sql.Tx) error {
		for _, w := range batch {
			id, err := h.target(ctx, tx, w.target)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?)", id, w.at,
				len(w.doc), w.doc); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting.stored(batch)
	return nil
}

// found is a state with where it is: waiting, a row or in a pack.
type found struct {
	at   int64
	doc  []byte
	pack bool
}

// StateAt returns the newest state of the target at or before that time and not older than Options.Reach before it;
// else a *NotFoundError, which tells the nearest ones.
func (h *History) StateAt(ctx context.Context, target string, at time.Time) (*state.State, error) {
	const op = "read state"
	ms := at.UnixMilli()
	best, err := h.newest(ctx, target, ms)
	if err != nil {
		return nil, wrap(op, h.path, err)
	}
	if best.doc == nil || best.at < ms-h.o.Reach.Milliseconds() {
		e := &NotFoundError{Target: target, At: at}
		if best.doc != nil {
			e.Before = time.UnixMilli(best.at)
		}
		if after, err := oldestAfter(ctx, h, target, ms); err == nil && after != 0 {
			e.After = time.UnixMilli(after)
		}
		return nil, e
	}
	raw, err := h.dec.DecodeAll(best.doc, nil)
	if err != nil {
		return nil, wrap(op, h.path, fmt.Errorf("%w: state of %s: %w", sqlitefile.ErrCorrupt,
			time.UnixMilli(best.at).Format(time.RFC3339), err))
	}
	if best.pack {
		if raw, err = member(raw, best.at); err != nil {
			return nil, wrap(op, h.path, err)
		}
	}
	s, err := state.Decode(raw)
	if err != nil {
		return nil, wrap(op, h.path, fmt.Errorf("%w: %w", sqlitefile.ErrCorrupt, err))
	}
	return s, nil
}

// newest finds the newest state at or before ms; its doc is nil when there is none.
func (h *History) newest(ctx context.Context, target string, ms int64) (best found, err error) {
	take := func(at int64, doc []byte, pack bool) {
		if at <= ms && (best.doc == nil || at > best.at) {
			best = found{at, doc, pack}
		}
	}
	// What waits is looked at first and again last: it may move into a row while we look.
	look := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, w := range h.waiting.list {
			if w.target == target {
				take(w.at, w.doc, false)
			}
		}
	}
	look()
	id, err := h.target(ctx, nil, target)
	if err != nil || id == 0 {
		return best, err
	}
	tx, err := h.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // rows become packs while we look
	if err != nil {
		return best, err
	}
	defer tx.Rollback()
	var f found
	switch err := tx.QueryRowContext(ctx, "SELECT at, doc FROM state WHERE target = ? AND at <= ? ORDER BY at DESC "+
		"LIMIT 1", id, ms).Scan(&f.at, &f.doc); {
	case err == nil:
		take(f.at, f.doc, false)
	case !errors.Is(err, sql.ErrNoRows):
		return best, err
	}
	// The newest one is the last of the pack that ends last before ms, or in one of the packs around ms: there are
	// several when the clock was set back.
	type where struct{ id, at int64 }
	packs, err := query(ctx, tx, func(r *sql.Rows, w *where) error {
		var times []byte
		if err := r.Scan(&w.id, &times); err != nil {
			return err
		}
		for t := range moments(times) {
			if t <= ms {
				w.at = max(w.at, t)
			}
		}
		return nil
	}, `SELECT id, times FROM (SELECT id, times FROM pack WHERE target = ?1 AND last <= ?2 ORDER BY last DESC LIMIT 1)
		UNION ALL SELECT id, times FROM pack WHERE target = ?1 AND last > ?2 AND last <= ?2 + ?3 AND first <= ?2`, id,
		ms, packSpan.Milliseconds())
	if err != nil {
		return best, err
	}
	for _, p := range packs {
		if p.at == 0 || best.doc != nil && p.at <= best.at {
			continue
		}
		var doc []byte
		if err := tx.QueryRowContext(ctx, "SELECT doc FROM pack WHERE id = ?", p.id).Scan(&doc); err != nil {
			return best, err
		}
		take(p.at, doc, true)
	}
	f = found{}
	switch err := tx.QueryRowContext(ctx, "SELECT at, doc FROM pinned WHERE target = ? AND at <= ? ORDER BY at DESC "+
		"LIMIT 1", id, ms).Scan(&f.at, &f.doc); {
	case err == nil:
		take(f.at, f.doc, true)
	case !errors.Is(err, sql.ErrNoRows):
		return best, err
	}
	look()
	return best, nil
}

// oldestAfter returns the time of the first state after ms, 0 when there is none.
func oldestAfter(ctx context.Context, h *History, target string, ms int64) (int64, error) {
	ts, err := h.times(ctx, target, ms+1, 1<<62, 1)
	if err != nil || len(ts) == 0 {
		return 0, err
	}
	return ts[0], nil
}

// StateTimes returns the times of the states kept from ≤ t ≤ to, in order. When there are more than most (0: no bound)
// they are thinned evenly, the first and the last always among them.
func (h *History) StateTimes(ctx context.Context, target string, from, to time.Time, most int) ([]time.Time, error) {
	ms, err := h.times(ctx, target, from.UnixMilli(), to.UnixMilli(), 0)
	if err != nil {
		return nil, wrap("read times of states", h.path, err)
	}
	if most > 0 && len(ms) > most {
		thin := make([]int64, 0, most)
		for i := range most {
			thin = append(thin, ms[i*(len(ms)-1)/max(1, most-1)])
		}
		ms = thin
	}
	out := make([]time.Time, len(ms))
	for i, t := range ms {
		out[i] = time.UnixMilli(t)
	}
	return out, nil
}

// times returns the moments from ≤ t ≤ to in order, each once; with first not 0 the earliest one is among them and the
// rest may be missing.
func (h *History) times(ctx context.Context, target string, from, to int64, first int) ([]int64, error) {
	var out []int64
	add := func(t int64) {
		if t >= from && t <= to {
			out = append(out, t)
		}
	}
	h.mu.Lock()
	for _, w := range h.waiting.list {
		if w.target == target {
			add(w.at)
		}
	}
	h.mu.Unlock()
	id, err := h.target(ctx, nil, target)
	if err != nil {
		return nil, err
	}
	if id != 0 {
		limit := -1
		if first != 0 {
			limit = 1
		}
		tx, err := h.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		defer tx.Rollback()
		rows, err := query(ctx, tx, func(r *sql.Rows, t *int64) error { return r.Scan(t) },
			"SELECT at FROM state WHERE target = ? AND at >= ? AND at <= ? ORDER BY at LIMIT ?", id, from, to, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			add(t)
		}
		if first != 0 {
			limit = 3 // packs overlap when the clock was set back
		}
		packs, err := query(ctx, tx, func(r *sql.Rows, b *[]byte) error { return r.Scan(b) },
			"SELECT times FROM pack WHERE target = ? AND last >= ? AND first <= ? ORDER BY last LIMIT ?", id, from, to,
			limit)
		if err != nil {
			return nil, err
		}
		for _, b := range packs {
			for t := range moments(b) {
				add(t)
			}
		}
		if first != 0 {
			limit = 1
		}
		rows, err = query(ctx, tx, func(r *sql.Rows, t *int64) error { return r.Scan(t) },
			"SELECT at FROM pinned WHERE target = ? AND at >= ? AND at <= ? ORDER BY at LIMIT ?", id, from, to, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			add(t)
		}
	}
	slices.SortFunc(out, cmp.Compare[int64])
	return slices.Compact(out), nil
}

// OnlyPinned reports whether of the states of a target from ≤ t ≤ to those alone are left that Pin keeps for incidents:
// their worst seconds, which are no sample of that time.
func OnlyPinned(ctx context.Context, h *History, target string, from, to time.Time) (bool, error) {
	const op = "read times of states"
	first, last := from.UnixMilli(), to.UnixMilli()
	h.mu.Lock()
	waits := slices.ContainsFunc(h.waiting.list, func(w waiting) bool {
		return w.target == target && w.at >= first && w.at <= last
	})
	h.mu.Unlock()
	id, err := h.target(ctx, nil, target)
	if err != nil || id == 0 || waits {
		return false, wrap(op, h.path, err)
	}
	var pinned, others bool
	err = h.db.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM pinned WHERE target = ?1 AND at >= ?2 AND at <= ?3),
		EXISTS (SELECT 1 FROM state WHERE target = ?1 AND at >= ?2 AND at <= ?3) OR
		EXISTS (SELECT 1 FROM pack WHERE target = ?1 AND last >= ?2 AND first <= ?3)`, id, first, last).
		Scan(&pinned, &others)
	return pinned && !others, wrap(op, h.path, err)
}
