package history

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/store/reserve"
)

// What is bounded for all targets together is shared: a target may take what none of the others needs, but one that
// keeps to an equal part of the whole never loses anything for another's sake. Who takes more loses its own oldest.

// use is what a target takes of what all share.
type use struct{ target, n int64 }

func (rt *retention) uses(ctx context.Context, text string, args ...any) ([]use, error) {
	return query(ctx, rt.db, func(r *sql.Rows, u *use) error { return r.Scan(&u.target, &u.n) }, text, args...)
}

func sum(all []use) (n int64) {
	for _, u := range all {
		n += u.n
	}
	return n
}

// share is reserve.Share of what the targets take.
func share(all []use, bound int64) int64 {
	ns := make([]int64, len(all))
	for i, u := range all {
		ns[i] = u.n
	}
	return reserve.Share(ns, bound)
}

// sizeOfStates drops the oldest states of targets that take more than their share.
func (rt *retention) sizeOfStates(ctx context.Context) error {
	all, err := rt.uses(ctx, "SELECT target, sum(n) FROM (SELECT target, sum(bytes) AS n FROM pack GROUP BY target "+
		"UNION ALL SELECT target, sum(bytes) FROM state GROUP BY target) GROUP BY target")
	if err != nil {
		return wrap("measure history", rt.path, err)
	}
	level := share(all, rt.stateBytes())
	for _, u := range all {
		for _, from := range []struct{ find, drop string }{
			{"SELECT id, bytes FROM pack WHERE target = ? ORDER BY last LIMIT 100", "DELETE FROM pack WHERE id = ?"},
			{
				"SELECT rowid, bytes FROM state WHERE target = ? ORDER BY at LIMIT 100",
				"DELETE FROM state WHERE rowid = ?",
			},
		} {
			for u.n > level {
				olds, err := rt.uses(ctx, from.find, u.target)
				if err != nil {
					return wrap("measure history", rt.path, err)
				}
				if len(olds) == 0 {
					break
				}
				if err := rt.write(ctx, "drop what is too large", func(tx *sql.Tx) error {
					for _, o := range olds {
						if u.n <= level {
							break
						}
						if _, err := tx.ExecContext(ctx, from.drop, o.target); err != nil {
							return err
						}
						u.n -= o.n
					}
					return nil
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spared is how much of its end a target keeps while there is anything older to drop, even by the day: most of what is
// asked is about the last day. If that alone is more than its share, the target begins anew.
const spared = 24 * time.Hour

// sizeOfClasses drops the oldest windows of targets that take more than their share: minutes first, then hours and
// days.
func (rt *retention) sizeOfClasses(ctx context.Context) error {
	bound, err := rt.classBound(ctx)
	if err != nil {
		return err
	}
	over := func() ([]use, int64, error) {
		all, err := rt.uses(ctx, "SELECT id, size FROM target")
		if err != nil || sum(all) <= bound {
			return nil, 0, wrap("measure history", rt.path, err)
		}
		level := share(all, bound)
		// not again at once
		return slices.DeleteFunc(all, func(u use) bool { return u.n <= level }), level / 10 * 9, nil
	}
	all, level, err := over()
	if err != nil || len(all) == 0 {
		return err
	}
	day := levels[len(levels)-1]
	for _, spare := range []time.Duration{spared, 0} {
		for _, l := range levels[:len(levels)-1] {
			for _, u := range all {
				if _, err := rt.trim(ctx, u.target, l, level, spare, math.MaxInt); err != nil {
					return err
				}
			}
			if all, level, err = over(); err != nil || len(all) == 0 {
				return err
			}
		}
		for more := true; more; {
			// with a few days go their classes, of which a target with ever new statements has most
			if err := rt.sweep(ctx); err != nil {
				return err
			}
			if all, level, err = over(); err != nil || len(all) == 0 {
				return err
			}
			more = false
			for _, u := range all {
				n, err := rt.trim(ctx, u.target, day, level, spare, 3)
				if err != nil {
					return err
				}
				more = more || n > 0
			}
		}
	}
	return nil
}

// trim drops the oldest windows of a level of a target, as many at most, until the target takes no more than most
// bytes, but none of its last time. It returns how many it dropped.
func (rt *retention) trim(ctx context.Context, target, level, most int64, spare time.Duration,
	windows int,
) (dropped int, err error) {
	for dropped < windows {
		ks, err := query(ctx, rt.db, scanWindowKey,
			`SELECT target, at FROM win WHERE target = ?1 AND level = ?2 AND (SELECT size FROM target WHERE id = ?1) > ?3
			AND (?4 = 0 OR at + ?2 * 1000 <= (SELECT max(at) FROM win WHERE target = ?1 AND level = 60) - ?4) ORDER BY at LIMIT ?5`, target, level, most, spare.Milliseconds(), min(10, windows-dropped))
		if err != nil || len(ks) == 0 {
			return dropped, wrap("measure history", rt.path, err)
		}
		if err := rt.dropKeys(ctx, level, ks); err != nil {
			return dropped, err
		}
		dropped += len(ks)
	}
	return dropped, nil
}

// classBound is ClassBytes as sizes of targets count, which are estimates: once an hour they are held against the pages
// of the file.
func (rt *retention) classBound(ctx context.Context) (int64, error) {
	var size int64
	if err := rt.db.QueryRowContext(ctx, "SELECT coalesce(sum(size), 0) FROM target").Scan(&size); err != nil {
		return 0, wrap("measure history", rt.path, err)
	}
	if size > rt.classBytes()/4 && (rt.measured.IsZero() || time.Since(rt.measured) > time.Hour) {
		bytes := int64(0)
		for _, name := range []string{"figure", "class", "sqlite_autoindex_class_1", "class_key", "spread"} {
			n, err := rt.pages(ctx, name)
			if err != nil {
				return 0, err
			}
			bytes += n
		}
		rt.scale, rt.measured = float64(bytes)/float64(size), time.Now()
	}
	if rt.scale == 0 { // far from the bound
		return rt.classBytes(), nil
	}
	return int64(float64(rt.classBytes()) / rt.scale), nil
}

// sweep drops the classes that no window has any more. A day has all classes of its minutes and hours, so that the days
// tell, and windows that have none.
func (rt *retention) sweep(ctx context.Context) error {
	return rt.write(ctx, "drop classes without figures", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM class WHERE id NOT IN (
			SELECT f.class FROM target t CROSS JOIN figure f ON f.target = t.id AND f.level = 86400
			UNION ALL SELECT f.class FROM target t CROSS JOIN win w ON w.target = t.id AND w.level IN (60, 3600)
				LEFT JOIN win d ON d.target = w.target AND d.level = 86400 AND d.at = w.at - w.at % 86400000
				CROSS JOIN figure f ON f.target = w.target AND f.level = w.level AND f.at = w.at WHERE d.at IS NULL)`)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM alias WHERE class NOT IN (SELECT class FROM class)")
		}
		return err
	})
}
