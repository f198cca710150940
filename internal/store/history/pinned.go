package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Pin keeps the states of some seconds of a target for an incident, beyond the retention of states: of each second the
// newest state in it. Seconds that were pinned for that incident before and are not among them are let go. A second
// whose state is gone, or not there yet, is left out; it is pinned by a later call if it comes.
func Pin(ctx context.Context, h *History, target, incident string, seconds []time.Time) error {
	const op = "keep states of an incident"
	have, err := Pinned(ctx, h, incident)
	if err != nil {
		return err
	}
	pinned := map[int64]int64{} // by second, the moment
	for _, t := range have {
		pinned[t.Unix()] = t.UnixMilli()
	}
	var docs []found
	for _, t := range seconds {
		if _, ok := pinned[t.Unix()]; ok {
			delete(pinned, t.Unix())
			continue
		}
		begin := t.Truncate(time.Second).UnixMilli()
		best, err := h.newest(ctx, target, begin+999)
		if err != nil {
			return wrap(op, h.path, err)
		}
		if best.doc == nil || best.at < begin {
			continue
		}
		if best.doc, err = shrunk(h, best); err != nil {
			return wrap(op, h.path, err)
		}
		docs = append(docs, best)
	}
	if len(docs) == 0 && len(pinned) == 0 {
		return nil
	}
	return h.add(ctx, op, func(tx *sql.Tx) error {
		id, err := h.target(ctx, tx, target)
		if err != nil {
			return err
		}
		for _, at := range pinned {
			if _, err := tx.ExecContext(ctx, "DELETE FROM pinned WHERE target = ? AND at = ? AND incident = ?", id, at,
				incident); err != nil {
				return err
			}
		}
		for _, d := range docs {
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO pinned VALUES (?, ?, ?, ?, ?)", id, d.at, incident,
				len(d.doc), d.doc); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pinned returns the moments whose states are kept for an incident, in order.
func Pinned(ctx context.Context, h *History, incident string) ([]time.Time, error) {
	ts, err := query(ctx, h.db, func(r *sql.Rows, t *time.Time) error {
		var at int64
		err := r.Scan(&at)
		*t = time.UnixMilli(at)
		return err
	}, "SELECT at FROM pinned WHERE incident = ? ORDER BY at", incident)
	return ts, wrap("read states of an incident", h.path, err)
}

// shrunk is a state as a compressed record, with its longest statements cut as in packs.
func shrunk(h *History, f found) ([]byte, error) {
	raw, err := h.dec.DecodeAll(f.doc, nil)
	if err == nil && f.pack {
		raw, err = member(raw, f.at)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: state of %s: %w", sqlitefile.ErrCorrupt, time.UnixMilli(f.at).Format(time.RFC3339),
			err)
	}
	doc := appendRecord(nil, record{f.at, raw})
	small := h.packer.EncodeAll(doc, nil)
	for _, most := range packTexts {
		if len(small) <= packEach {
			break
		}
		doc = shortened(doc, most)
		small = h.packer.EncodeAll(doc, nil)
	}
	return small, nil
}

// sizeOfPinned lets go of the oldest incidents' states, of targets that take more than their share.
func (rt *retention) sizeOfPinned(ctx context.Context) error {
	all, err := rt.uses(ctx, "SELECT target, sum(bytes) FROM pinned GROUP BY target")
	if err != nil {
		return wrap("measure history", rt.path, err)
	}
	type kept struct {
		incident string
		bytes    int64
	}
	level := share(all, rt.pinBytes())
	for _, u := range all {
		if u.n <= level {
			continue
		}
		olds, err := query(ctx, rt.db, func(r *sql.Rows, k *kept) error { return r.Scan(&k.incident, &k.bytes) },
			"SELECT incident, sum(bytes) FROM pinned WHERE target = ? GROUP BY incident ORDER BY min(at)", u.target)
		if err != nil {
			return wrap("measure history", rt.path, err)
		}
		for chunk := range slices.Chunk(olds, 100) {
			if err := rt.write(ctx, "drop what is too large", func(tx *sql.Tx) error {
				for _, k := range chunk {
					if u.n <= level {
						break
					}
					if _, err := tx.ExecContext(ctx, "DELETE FROM pinned WHERE target = ? AND incident = ?", u.target,
						k.incident); err != nil {
						return err
					}
					u.n -= k.bytes
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Since returns the time of the first that is kept of a target, states or classes; none when nothing is.
func Since(ctx context.Context, h *History, target string) (time.Time, error) {
	id, err := h.target(ctx, nil, target)
	if err != nil || id == 0 {
		return time.Time{}, wrap("read times of states", h.path, err)
	}
	var at sql.NullInt64
	err = h.db.QueryRowContext(ctx, "SELECT min(at) FROM (SELECT min(at) AS at FROM state WHERE target = ?1 UNION ALL "+
		"SELECT min(first) FROM pack WHERE target = ?1 UNION ALL SELECT ("+
		firstOf("(SELECT * FROM win WHERE target = ?1)")+"))", id).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, wrap("read times of states", h.path, err)
	}
	return time.UnixMilli(at.Int64), nil
}
