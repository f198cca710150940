package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
)

// ClassKey names a class as it is kept: the statements of one fingerprint with one default database, seen in one way.
type ClassKey struct {
	ID, Schema string
	Origin     class.Origin
	Sampled    bool
}

// KeyOf returns the key of a class.
func KeyOf(c class.Class) ClassKey { return ClassKey{c.ID, c.Schema, c.Origin, c.Sampled} }

// Window is a stretch of time that was watched.
type Window struct {
	From, To time.Time
	Seconds  float64 // that were watched: less than To-From says that there are gaps
}

// Point is what a class did in one window; a window in which it did nothing has none.
type Point struct {
	Window   int // of the windows that came with it
	Count    uint64
	TimeSec  float64
	P95Sec   known.Value[float64]
	Examined known.Value[uint64] // rows
}

// Courses returns the windows of a time span, chosen as Timeline does, and what each of the classes did in them, in
// order of time; as in Classes no time counts twice. The cost is one look-up for each class and window, whatever else
// ran: 50 classes over an hour are 3000 of them.
func (h *History) Courses(
	ctx context.Context, target string, keys []ClassKey, from, to time.Time,
) ([]Window, map[ClassKey][]Point, error) {
	const op = "read courses"
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, nil, wrap(op, h.path, err)
	}
	ws, err := courseWindows(ctx, h.db, t, from, to)
	if err != nil {
		return nil, nil, wrap(op, h.path, err)
	}
	out := make([]Window, len(ws))
	place := make(map[int64]int, len(ws))
	for i, w := range ws {
		place[w.at] = i
		out[i] = Window{From: time.UnixMilli(w.at), To: time.UnixMilli(w.until), Seconds: w.seconds}
	}
	refs, err := refs(ctx, h.db, keys)
	if err != nil || len(refs) == 0 {
		return out, nil, wrap(op, h.path, err)
	}
	list := make([]int64, 0, len(refs))
	var sampled []string
	for r, k := range refs {
		list = append(list, r)
		if k.Sampled {
			sampled = append(sampled, k.ID)
		}
	}
	var twice map[figureKey]bool
	if len(sampled) > 0 {
		if twice, err = countedTwice(ctx, h.db, t, ws, sampled); err != nil {
			return nil, nil, wrap(op, h.path, err)
		}
	}
	doc, err := json.Marshal(list)
	if err != nil {
		return nil, nil, err
	}
	courses := make(map[ClassKey][]Point, len(refs))
	for _, s := range spans(ws) {
		_, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
			var at, ref, n int64
			var p95 sql.NullFloat64
			var examined sql.NullInt64
			var p Point
			if err := r.Scan(&at, &ref, &n, &p.TimeSec, &p95, &examined); err != nil {
				return err
			}
			if twice[figureKey{at, ref}] {
				return nil
			}
			p.Window, p.Count, p.P95Sec = place[at], uint64(n), float(p95)
			if examined.Valid {
				p.Examined = known.Of(uint64(examined.Int64))
			}
			k := refs[ref]
			courses[k] = append(courses[k], p)
			return nil
		}, `WITH k (id) AS MATERIALIZED (SELECT value FROM json_each(?))
			SELECT w.at, f.class, f.n, f.sec, f.p95, f.examined FROM win w CROSS JOIN k CROSS JOIN figure f
			ON f.target = w.target AND f.level = w.level AND f.at = w.at AND f.class = k.id
			WHERE w.target = ? AND w.level = ? AND w.at >= ? AND w.at <= ? ORDER BY w.at`, string(doc), t,
			s.level, s.first, s.last)
		if err != nil {
			return nil, nil, wrap(op, h.path, err)
		}
	}
	return out, courses, nil
}

// courseWindows chooses the windows of a course: by the minute up to 12 hours, by the hour up to 30 days, else by the
// day, coarser where the finer is no longer kept.
func courseWindows(ctx context.Context, db *sql.DB, target int64, from, to time.Time) ([]window, error) {
	finest := levels[0]
	switch d := to.Sub(from); {
	case d > 30*24*time.Hour:
		finest = levels[2]
	case d > 12*time.Hour:
		finest = levels[1]
	}
	all, err := query(ctx, db, func(r *sql.Rows, w *window) error {
		return r.Scan(&w.level, &w.at, &w.until, &w.seconds)
	},
		"SELECT level, at, until, seconds FROM win WHERE target = ? AND level >= ? AND at >= ? AND at < ? ORDER BY "+
			"level DESC, at", target, finest, from.UnixMilli(), dayEnd(to.UnixMilli()))
	if err != nil {
		return nil, err
	}
	return choose(all, to.UnixMilli(), false), nil
}

// refs returns the numbers of classes.
func refs(ctx context.Context, db *sql.DB, keys []ClassKey) (map[int64]ClassKey, error) {
	want := make(map[ClassKey]bool, len(keys))
	ids := make([]string, 0, len(keys))
	for _, k := range keys {
		want[k] = true
		ids = append(ids, k.ID)
	}
	doc, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	refs := make(map[int64]ClassKey, len(keys))
	_, err = query(ctx, db, func(r *sql.Rows, _ *struct{}) error {
		var ref int64
		var k ClassKey
		var origin string
		if err := r.Scan(&ref, &k.ID, &k.Schema, &origin, &k.Sampled); err != nil {
			return err
		}
		if k.Origin = class.Origin(origin); want[k] {
			refs[ref] = k
		}
		return nil
	}, "SELECT id, class, schema, origin, sampled FROM class WHERE class IN (SELECT value FROM json_each(?))",
		string(doc))
	return refs, err
}
