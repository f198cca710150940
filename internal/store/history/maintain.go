package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
)

// retention drops what is too old or too much.
type retention struct {
	*book
	// stateAge and classAge are the ages of Options, nanoseconds, until Keep changes them.
	stateAge, classAge atomic.Int64
	// limits are bytes of states, classes, each of plans and examples, the states of incidents, and locks, since Keep;
	// 0: those of Options.
	limits [5]atomic.Int64

	end      clock.Horizon // of Run: what ages are counted back from
	scale    float64       // bytes of the file for one of a target's size: see classBound
	measured time.Time     // scale
	maxRows  int64         // maxRows but in tests, as is maxBytes
	maxBytes int64
}

// Maintain packs states, drops what is older or larger than Options allow as of now, and gives free room back to the
// file system. Call it about once a minute; Run does. It works in small transactions: readers and writers go on.
func (h *History) Maintain(ctx context.Context, now time.Time) error {
	return h.maintain(ctx, now, now)
}

// maintain is Maintain with ages counted back from end.
func (h *History) maintain(ctx context.Context, now, end time.Time) error {
	return errors.Join(h.Flush(ctx), packDue(ctx, h, now), h.retention.age(ctx, end), h.retention.sizeOfStates(ctx),
		h.retention.sizeOfPinned(ctx),
		h.retention.sizeOfClasses(ctx), h.retention.vacuum(ctx),
		wrap("shorten write-ahead log", h.path, h.file.ShortenLog(ctx)))
}

// Keep changes how long states and classes are kept, and how many bytes of states, of classes, of plans and examples
// each, of the states of incidents, and of deadlocks and lock waits, from now on: the ages and sizes of o, where 0
// bytes change nothing. What is too old or too much goes within minutes, the oldest first.
func (h *History) Keep(o Options) {
	h.retention.stateAge.Store(int64(o.StateAge))
	h.retention.classAge.Store(int64(o.ClassAge))
	for i, n := range []int64{o.StateBytes, o.ClassBytes, o.PlanBytes, o.PinnedBytes, o.LockBytes} {
		if n > 0 {
			h.retention.limits[i].Store(n)
		}
	}
}

func (rt *retention) stateBytes() int64 { return cmp.Or(rt.limits[0].Load(), rt.o.StateBytes) }
func (rt *retention) classBytes() int64 { return cmp.Or(rt.limits[1].Load(), rt.o.ClassBytes) }
func (rt *retention) planBytes() int64  { return cmp.Or(rt.limits[2].Load(), rt.maxBytes) }
func (rt *retention) pinBytes() int64   { return cmp.Or(rt.limits[3].Load(), rt.o.PinnedBytes) }
func (rt *retention) lockBytes() int64  { return cmp.Or(rt.limits[4].Load(), rt.o.LockBytes) }

// horizon returns the moment that ages are counted back from. States are the best witness of when this program ran
// last.
func (rt *retention) horizon(ctx context.Context, now time.Time) (time.Time, error) {
	var oldest sql.NullInt64
	if err := rt.db.QueryRowContext(ctx, "SELECT min(at) FROM (SELECT min(at) AS at FROM state UNION ALL SELECT "+
		"min(last) FROM pack)").Scan(&oldest); err != nil {
		// nothing goes this time
		return now.Add(-time.Duration(rt.classAge.Load())), wrap("measure history", rt.path, err)
	}
	if !oldest.Valid {
		return rt.end.Next(now, time.Time{}), nil
	}
	return rt.end.Next(now, time.UnixMilli(oldest.Int64).Add(time.Duration(rt.stateAge.Load()))), nil
}

// slice bounds the rows that one transaction drops.
const slice = 20000

// age drops what is too old.
func (rt *retention) age(ctx context.Context, now time.Time) error {
	ago := func(d int64) int64 { return now.Add(-time.Duration(d)).UnixMilli() }
	states, minutes, classes := ago(rt.stateAge.Load()), ago(min(int64(rt.o.MinuteAge), rt.classAge.Load())),
		ago(rt.classAge.Load())
	return errors.Join(
		rt.drop(ctx, "DELETE FROM state WHERE rowid IN (SELECT rowid FROM state WHERE at < ? LIMIT ?)", states, slice),
		rt.drop(ctx, "DELETE FROM pack WHERE id IN (SELECT id FROM pack WHERE last < ? LIMIT ?)", states, slice),
		rt.drop(ctx, "DELETE FROM pinned WHERE rowid IN (SELECT rowid FROM pinned WHERE at < ? LIMIT ?)", classes,
			slice),
		rt.dropWindows(ctx, 60, minutes),
		rt.dropWindows(ctx, 3600, classes),
		rt.dropWindows(ctx, 86400, classes),
		rt.drop(ctx, "DELETE FROM plan WHERE target IN (SELECT id FROM target) AND last < ?", classes),
		rt.drop(ctx, "DELETE FROM sample WHERE target IN (SELECT id FROM target) AND at < ?", classes),
		rt.drop(ctx, "DELETE FROM lock WHERE target IN (SELECT id FROM target) AND until < ?",
			ago(int64(rt.o.LockAge))),
		rt.number(ctx),
	)
}

// How many plans, and how many examples, are kept at most, and what they take.
const (
	maxRows  = 100_000
	maxBytes = 256 << 20
)

// number drops the oldest plans and examples of more than maxRows and maxBytes, of the targets that
// have more than their share.
func (rt *retention) number(ctx context.Context) error {
	var errs []error
	for _, x := range []struct {
		table, at, n string
		most         int64
	}{
		{"plan", "last", "1", rt.maxRows},
		{"plan", "last", "bytes", rt.planBytes()},
		{"sample", "at", "1", rt.maxRows},
		{"sample", "at", "bytes", rt.planBytes()},
		{"lock", "at", "bytes", rt.lockBytes()},
	} {
		all, err := rt.uses(ctx, "SELECT target, sum("+x.n+") FROM "+x.table+" GROUP BY target")
		level := share(all, x.most)
		for _, u := range all {
			if err == nil && u.n > level {
				err = rt.drop(ctx, fmt.Sprintf(`DELETE FROM %s WHERE target = ?1 AND %[2]s <= (SELECT max(%[2]s) FROM
					(SELECT %[2]s, sum(%[3]s) OVER (ORDER BY %[2]s DESC) AS n FROM %[1]s WHERE target = ?1)
					WHERE n > ?2)`, x.table, x.at, x.n), u.target, level)
			}
		}
		errs = append(errs, err)
	}
	return wrap("drop what is too much", rt.path, errors.Join(errs...))
}

// drop deletes in several transactions when there is a lot.
func (rt *retention) drop(ctx context.Context, q string, args ...any) error {
	for {
		var n int64
		if err := rt.write(ctx, "drop what is too old", func(tx *sql.Tx) error {
			r, err := tx.ExecContext(ctx, q, args...)
			if err != nil {
				return err
			}
			n, err = r.RowsAffected()
			return err
		}); err != nil || n < slice {
			return err
		}
	}
}

// windowKey names a window of a level.
type windowKey struct{ target, at int64 }

func scanWindowKey(r *sql.Rows, k *windowKey) error { return r.Scan(&k.target, &k.at) }

// dropWindows drops the windows of a level that ended before ms, with their figures.
func (rt *retention) dropWindows(ctx context.Context, level, ms int64) error {
	for {
		ks, err := query(ctx, rt.db, scanWindowKey,
			"SELECT w.target, w.at FROM target t JOIN win w ON w.target = t.id AND w.level = ? AND w.at < ? AND "+
				"w.until < ? LIMIT 100", level, ms, ms)
		if err != nil || len(ks) == 0 {
			return wrap("drop what is too old", rt.path, err)
		}
		if err := rt.dropKeys(ctx, level, ks); err != nil {
			return err
		}
	}
}

// dropKeys drops windows of a level with their figures, and the finer ones in them, in one transaction: a day that is
// kept has all classes of its hours and minutes, see sweep.
func (rt *retention) dropKeys(ctx context.Context, level int64, ks []windowKey) error {
	return rt.write(ctx, "drop windows", func(tx *sql.Tx) error {
		for _, k := range ks {
			for _, l := range levels {
				last := k.at + level*1000 - 1
				if l >= level {
					last = k.at
				}
				for _, q := range []string{
					"DELETE FROM figure WHERE target = ? AND level = ? AND at BETWEEN ? AND ?",
					"DELETE FROM win WHERE target = ? AND level = ? AND at BETWEEN ? AND ?",
				} {
					if _, err := tx.ExecContext(ctx, q, k.target, l, k.at, last); err != nil {
						return err
					}
				}
				if l == level {
					break
				}
			}
		}
		return nil
	})
}

// vacuum gives up to 16 MB of free pages back.
func (rt *retention) vacuum(ctx context.Context) error {
	var free int64
	if err := rt.db.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil || free < 256 {
		return wrap("shrink history", rt.path, err)
	}
	_, err := query(ctx, rt.db, func(*sql.Rows, *int) error { return nil }, "PRAGMA incremental_vacuum(4096)")
	return wrap("shrink history", rt.path, err)
}

// Usage is what a kind takes.
type Usage struct {
	// Kind is "states", "states of incidents", "classes", "distributions", "plans", "examples" or "locks".
	Kind   string    `json:"kind"`
	Bytes  int64     `json:"bytes"`
	Rows   int64     `json:"rows"`
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
}

// firstWatched is when the first window began. That of a day or an hour begins with it, maybe long before anything was
// watched: what it was summed up from says when, as long as that is kept.
var firstWatched = "(" + firstOf("win") + ")"

// firstOf is firstWatched of some windows.
func firstOf(win string) string {
	return `SELECT CASE WHEN hour IS NULL OR hour >= day + 86400000 THEN day
		WHEN minute IS NULL OR minute >= hour + 3600000 THEN hour ELSE minute END
	FROM (SELECT min(at) FILTER (WHERE level = 86400) AS day, min(at) FILTER (WHERE level = 3600) AS hour,
		min(at) FILTER (WHERE level = 60) AS minute FROM ` + win + `)`
}

// Usage tells what each kind takes in the file, free pages left out. It reads the list of all pages: a moment per
// gigabyte.
func (h *History) Usage(ctx context.Context) ([]Usage, error) {
	var out []Usage
	for _, k := range []struct {
		kind  string
		about string
		use   []string
	}{
		{"states", "SELECT count(*), min(a), max(b) FROM (SELECT at AS a, at AS b FROM state UNION ALL SELECT first, " +
			"last FROM pack)", []string{
			"state", "state_size", "sqlite_autoindex_state_1", "pack",
			"pack_last", "pack_size",
		}},
		{"states of incidents", "SELECT count(*), min(at), max(at) FROM pinned", []string{
			"pinned", "sqlite_autoindex_pinned_1", "pinned_incident",
		}},
		{
			"classes", "SELECT (SELECT count(*) FROM figure), " + firstWatched + ", max(until) FROM win",
			[]string{"figure", "win", "class", "sqlite_autoindex_class_1", "class_key", "alias"},
		},
		{
			"distributions", "SELECT count(*), (SELECT min(at) FROM spread WHERE level = 60), " +
				"(SELECT max(at) FROM spread WHERE level = 60) FROM spread", []string{"spread"},
		},
		{"plans", "SELECT count(*), min(first), max(last) FROM plan", []string{"plan", "plan_last", "plan_of"}},
		{"examples", "SELECT count(*), min(at), max(at) FROM sample", []string{
			"sample", "sample_class",
			"sample_of", "sample_last",
		}},
		{"locks", "SELECT count(*), min(at), max(until) FROM lock", []string{
			"lock", "lock_at", "sqlite_autoindex_lock_1",
		}},
	} {
		u := Usage{Kind: k.kind}
		var a, b sql.NullInt64
		if err := h.db.QueryRowContext(ctx, k.about).Scan(&u.Rows, &a, &b); err != nil {
			return nil, wrap("measure history", h.path, err)
		}
		if a.Valid {
			u.Oldest, u.Newest = time.UnixMilli(a.Int64), time.UnixMilli(b.Int64)
		}
		for _, name := range k.use {
			n, err := h.retention.pages(ctx, name)
			if err != nil {
				return nil, err
			}
			u.Bytes += n
		}
		out = append(out, u)
	}
	return out, nil
}

// pages returns the bytes of the pages of a table or index.
func (rt *retention) pages(ctx context.Context, name string) (n int64, err error) {
	err = rt.db.QueryRowContext(ctx, "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ? AND aggregate = TRUE",
		name).Scan(&n)
	return n, wrap("measure history", rt.path, err)
}
