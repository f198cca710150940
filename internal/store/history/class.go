package history

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/known"
)

// levels are the nominal lengths of windows in seconds, the finest first. What is put is of the first; the others are
// its sums.
var levels = [...]int64{60, 3600, 86400}

// Coverage says what an answer about classes is made of.
type Coverage struct {
	From    time.Time `json:"from,omitzero"` // of the first and last window that was used; zero: none
	To      time.Time `json:"to,omitzero"`
	Seconds float64   `json:"seconds"` // of these that were watched: less than To-From says that there are gaps
	Windows int       `json:"windows"`
	Classes int       `json:"classes"`  // all, also those that were left out
	Count   uint64    `json:"count"`    // of all classes
	TimeSec float64   `json:"time_sec"` // of all classes
}

// PutClasses keeps what the classes of a target did from one moment to another, usually a minute; an empty list says
// that nothing ran. Sums by hour and day (UTC, by when the window begins) are kept up in the same transaction. A window
// that begins before the last one of the target ended is refused with ErrOverlap: nothing is counted twice. It takes
// the place of windows that end in the future. Example, Hosts, Users and the times seen are not kept here.
// With them may come how their times were distributed, which hours and days sum up too.
func (h *History) PutClasses(ctx context.Context, target string, from, to time.Time, cs []class.Class,
	dist ...class.Distributions,
) error {
	a, b := from.UnixMilli(), to.UnixMilli()
	if target == "" || b <= a {
		return fmt.Errorf("store classes: a window of %q from %v to %v", target, from, to)
	}
	return h.add(ctx, "store classes", func(tx *sql.Tx) error {
		t, err := h.target(ctx, tx, target)
		if err != nil {
			return err
		}
		var last sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT max(until) FROM win WHERE target = ? AND level = ? AND at >= ? AND "+
			"at < ?", t, levels[0], a-int64(24*time.Hour/time.Millisecond), b).Scan(&last); err != nil {
			return err
		}
		if last.Valid && last.Int64 > clock.Now().Add(time.Minute).UnixMilli() {
			// of a time when the clock was ahead: it must not be in the way
			for _, q := range []string{
				"DELETE FROM figure WHERE target = ?1 AND level = ?2 AND at IN (SELECT at FROM win WHERE target = ?1 " +
					"AND level = ?2 AND at < ?4 AND until > ?3)",
				"DELETE FROM win WHERE target = ?1 AND level = ?2 AND at < ?4 AND until > ?3",
			} {
				if _, err := tx.ExecContext(ctx, q, t, levels[0], a, b); err != nil {
					return err
				}
			}
			last.Valid = false
		}
		if last.Valid && last.Int64 > a {
			return fmt.Errorf("store classes of %s from %s: %w up to %s", target, from.Format(time.RFC3339), ErrOverlap,
				time.UnixMilli(last.Int64).Format(time.RFC3339))
		}
		put, err := tx.PrepareContext(ctx, "INSERT INTO figure VALUES ("+strings.Repeat("?, ", 19)+`?)
			ON CONFLICT DO UPDATE SET n = n + excluded.n, sec = sec + excluded.sec, max = max(max, excluded.max), p95 = NULL, lock = lock + excluded.lock,
			cpu = cpu + excluded.cpu, errors = errors + excluded.errors, sent = sent + excluded.sent, examined = examined + excluded.examined,
			affected = affected + excluded.affected, scans = scans + excluded.scans, joins = joins + excluded.joins, noindex = noindex + excluded.noindex,
			sorted = sorted + excluded.sorted, tmp = tmp + excluded.tmp, tmpdisk = tmpdisk + excluded.tmpdisk`)
		if err != nil {
			return err
		}
		defer put.Close()
		names, err := newNamer(ctx, h, tx, t)
		if err != nil {
			return err
		}
		ids := make([]int64, len(cs))
		for i, c := range cs {
			if c, err = names.name(ctx, c); err != nil {
				return err
			}
			if ids[i], err = names.number(ctx, c); err != nil {
				return err
			}
		}
		number := func(id, schema string) int64 {
			for i, c := range cs {
				if c.ID == id && c.Schema == schema && !c.Sampled {
					return ids[i]
				}
			}
			return ofServer
		}
		for _, level := range levels {
			at := a
			if level != levels[0] {
				at = a - mod(a, level*1000)
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO win VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET until = max(until, excluded.until), seconds = seconds + excluded.seconds`, t,
				level, at, b, float64(b-a)/1000); err != nil {
				return err
			}
			for i, c := range cs {
				if _, err := put.ExecContext(ctx, t, level, at, ids[i], whole(c.Count), c.TimeSec, real(c.MaxSec),
					real(c.P95Sec), real(c.LockSec), real(c.CPUSec),
					count(c.Errors), count(c.RowsSent), count(c.Examined), count(c.Affected), count(c.FullScans),
					count(c.FullJoins), count(c.NoIndex),
					count(c.SortRows), count(c.TmpTables), count(c.TmpDisk)); err != nil {
					return err
				}
			}
			for i := range dist {
				if err := (spreads{tx, t, &dist[i], number}).put(ctx, level, at); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// whole fits a count into SQLite's integers so that sums of many cannot overflow.
func whole(n uint64) int64 { return int64(min(n, 1<<50)) }

func count(v known.Value[uint64]) any {
	if n, ok := v.Get(); ok {
		return whole(n)
	}
	return nil
}

func real(v known.Value[float64]) any {
	if x, ok := v.Get(); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
		return x
	}
	return nil
}

// window is a stored window.
type window struct {
	level, at, until int64 // milliseconds, level seconds
	seconds          float64
}

func (w window) end() int64 { return w.at + w.level*1000 } // nominal

// windowsOf returns the stored windows that begin in [from, to), such that no second is in two of them: the coarsest
// that fit (coarse), or the finest that there are. A window counts for where it begins.
func windowsOf(ctx context.Context, db *sql.DB, target, from, to int64, coarse bool) ([]window, error) {
	all, err := query(ctx, db, func(r *sql.Rows, w *window) error {
		return r.Scan(&w.level, &w.at, &w.until, &w.seconds)
	},
		"SELECT level, at, until, seconds FROM win WHERE target = ? AND level IN (60, 3600, 86400) AND at >= ? AND "+
			"at < ? ORDER BY level DESC, at", target, from, dayEnd(to))
	if err != nil {
		return nil, err
	}
	return choose(all, to, coarse), nil
}

// dayEnd returns the end of the day that ends at or after a moment: the parts of a window that reaches beyond the
// moment tell what of it lies before.
func dayEnd(to int64) int64 { return to + mod(-to, levels[2]*1000) }

// choose is the choice of windows that begin before to; all is ordered from coarse to fine, each level by time, and has
// every window up to the end of the last day.
func choose(all []window, to int64, coarse bool) []window {
	by := map[int64][]window{}
	for _, w := range all {
		by[w.level] = append(by[w.level], w)
	}
	day, hour, minute := by[levels[2]], by[levels[1]], by[levels[0]]
	// within returns the windows of a finer level that begin in w.
	within := func(list []window, w window) []window {
		i, _ := slices.BinarySearchFunc(list, w.at, func(x window, t int64) int { return cmp.Compare(x.at, t) })
		j, _ := slices.BinarySearchFunc(list, w.end(), func(x window, t int64) int { return cmp.Compare(x.at, t) })
		return list[i:j]
	}
	// covered is how much of w its parts still hold: the others have aged out.
	whole := func(parts []window, w window) bool {
		sum := 0.0
		for _, p := range parts {
			sum += p.seconds
		}
		return len(parts) > 0 && sum >= w.seconds*0.999-0.5
	}
	var out []window
	used := map[window]bool{}
	var take func(w window, finer ...[]window)
	take = func(w window, finer ...[]window) {
		if w.at >= to {
			return
		}
		if len(finer) > 0 {
			parts := within(finer[0], w)
			fits := w.end() <= to
			if (!coarse || !fits) && whole(parts, w) || !fits && len(parts) > 0 {
				for _, p := range parts {
					take(p, finer[1:]...)
				}
				return
			}
			for _, p := range parts { // they are in w
				used[p] = true
				if len(finer) > 1 {
					for _, q := range within(finer[1], p) {
						used[q] = true
					}
				}
			}
		}
		if !used[w] {
			used[w] = true
			out = append(out, w)
		}
	}
	for _, w := range day {
		take(w, hour, minute)
	}
	for _, w := range hour {
		if !used[w] && !inAny(day, w) {
			take(w, minute)
		}
	}
	for _, w := range minute {
		if !used[w] && !inAny(day, w) && !inAny(hour, w) {
			take(w)
		}
	}
	slices.SortFunc(out, func(a, b window) int { return cmp.Compare(a.at, b.at) })
	return out
}

// inAny reports whether a window begins within one of a coarser level.
func inAny(list []window, w window) bool {
	i, ok := slices.BinarySearchFunc(list, w.at, func(x window, t int64) int { return cmp.Compare(x.at, t) })
	return ok || i > 0 && w.at < list[i-1].end()
}

// span is a run of windows of one level.
type span struct{ level, first, last int64 }

// spans joins neighbours of one level.
func spans(ws []window) []span {
	var out []span
	for _, w := range ws {
		if n := len(out); n > 0 && out[n-1].level == w.level {
			out[n-1].last = w.at
		} else {
			out = append(out, span{w.level, w.at, w.at})
		}
	}
	return out
}

// MostClasses is how many classes are given at a time: tenants make new ones with each statement, for as long as they
// are kept.
const MostClasses = 20_000

// Classes returns the n classes (0: MostClasses) of a target that took most time between two moments, of those that all
// of keep say yes to, and what that is made of:
// whole days and hours from their sums, the rest by the minute as long as minutes are kept. A window belongs to where
// it begins, so the answer may end after to by as much as a window is long, and begin after from: see Coverage. A
// figure that was not told in all of the windows is unknown, and so is a 95th percentile over more than one of them.
// FirstSeen and LastSeen are the bounds of the windows a class was in. What was sampled of statements that are counted
// as well is left out: the same time does not count twice.
func (h *History) Classes(
	ctx context.Context, target string, from, to time.Time, n int, keep ...func(class.Class) bool,
) ([]class.Class, Coverage, error) {
	const op = "read classes"
	var cov Coverage
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, cov, wrap(op, h.path, err)
	}
	ws, err := windowsOf(ctx, h.db, t, from.UnixMilli(), to.UnixMilli(), true)
	if err != nil || len(ws) == 0 {
		return nil, cov, wrap(op, h.path, err)
	}
	for _, w := range ws {
		cov.Seconds += w.seconds
		cov.Windows++
		cov.To = later(cov.To, time.UnixMilli(w.until))
	}
	cov.From = time.UnixMilli(ws[0].at)
	twice, err := countedTwice(ctx, h.db, t, ws, nil)
	if err != nil {
		return nil, cov, wrap(op, h.path, err)
	}
	once, listed := notTwice(twice)
	var from1 strings.Builder
	args := []any{}
	for i, s := range spans(ws) {
		if i > 0 {
			from1.WriteString(" UNION ALL ")
		}
		from1.WriteString("SELECT f.*, w.until FROM figure f JOIN win w ON w.target = f.target AND w.level = f.level " +
			"AND w.at = f.at WHERE f.target = ? AND f.level = ? AND f.at >= ? AND f.at <= ?" + once)
		args = append(append(args, t, s.level, s.first, s.last), listed...)
	}
	sums := ""
	for _, c := range []string{
		"lock", "cpu", "errors", "sent", "examined", "affected", "scans", "joins", "noindex",
		"sorted", "tmp", "tmpdisk",
	} {
		sums += ", CASE WHEN count(" + c + ") = count(*) THEN sum(" + c + ") END"
	}
	if n <= 0 || n > MostClasses {
		n = MostClasses
	}
	if args = append(args, n); len(keep) > 0 {
		args[len(args)-1] = -1 // which of them are wanted is not known to the statement
	}
	kept := 0
	cs, err := query(ctx, h.db, func(r *sql.Rows, c *class.Class) error {
		var first, last, ref int64
		var origin string
		var maxSec, p95, lock, cpu sql.NullFloat64
		var u [10]sql.NullInt64
		if err := r.Scan(&c.ID, &c.Fingerprint, &c.Digest, &c.Guessed, &c.Schema, &origin, &c.Sampled, &first, &last,
			&c.Count, &c.TimeSec, &maxSec, &p95, &lock, &cpu,
			&u[0], &u[1], &u[2], &u[3], &u[4], &u[5], &u[6], &u[7], &u[8], &u[9], &ref, &cov.Classes, &cov.Count,
			&cov.TimeSec); err != nil {
			return err
		}
		c.Origin, c.FirstSeen, c.LastSeen = class.Origin(origin), time.UnixMilli(first), time.UnixMilli(last)
		c.MaxSec, c.P95Sec, c.LockSec, c.CPUSec = float(maxSec), float(p95), float(lock), float(cpu)
		for i, p := range []*known.Value[uint64]{
			&c.Errors, &c.RowsSent, &c.Examined, &c.Affected, &c.FullScans,
			&c.FullJoins, &c.NoIndex, &c.SortRows, &c.TmpTables, &c.TmpDisk,
		} {
			if u[i].Valid {
				*p = known.Of(uint64(u[i].Int64))
			}
		}
		for _, f := range keep {
			if !f(*c) {
				return errLeftOut
			}
		}
		if kept++; kept > n {
			return errLeftOut
		}
		return nil
	},
		`SELECT c.class, c.fingerprint, c.digest, c.guessed, c.schema, c.origin, c.sampled, s.*, count(*) OVER (), sum(s.n) OVER (), sum(s.sec) OVER () FROM (
		SELECT min(at), max(until), sum(n) AS n, sum(sec) AS sec, CASE WHEN count(max) = count(*) THEN max(max) END,
		CASE WHEN count(*) = 1 THEN max(p95) END`+sums+`, class AS ref FROM (`+from1.String()+`) GROUP BY class) AS s
		JOIN class c ON c.id = s.ref ORDER BY s.sec DESC, s.n DESC, c.class, c.schema LIMIT ?`, args...)
	return cs, cov, wrap(op, h.path, err)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func float(v sql.NullFloat64) known.Value[float64] {
	if v.Valid {
		return known.Of(v.Float64)
	}
	return known.None[float64]()
}

// Bucket is what one class did in one window. A window in which it did nothing has a bucket with zeros; where nothing
// was watched there is none.
type Bucket struct {
	From     time.Time            `json:"from"`
	To       time.Time            `json:"to"`
	Seconds  float64              `json:"seconds"` // that were watched
	Count    uint64               `json:"count"`
	TimeSec  float64              `json:"time_sec"`
	MaxSec   known.Value[float64] `json:"max_sec,omitzero"`
	P95Sec   known.Value[float64] `json:"p95_sec,omitzero"`
	Errors   known.Value[uint64]  `json:"errors,omitzero"`
	Sent     known.Value[uint64]  `json:"rows_sent,omitzero"`
	Examined known.Value[uint64]  `json:"rows_examined,omitzero"`
}

// Timeline returns what the class with that id did from one moment to another, all its schemas and origins together: by
// the minute up to 12 hours, by the hour up to 30 days, else by the day, coarser where the finer is no longer kept. As
// in Classes no time counts twice.
func (h *History) Timeline(ctx context.Context, target, id string, from, to time.Time) ([]Bucket, error) {
	const op = "read timeline"
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, wrap(op, h.path, err)
	}
	ws, err := courseWindows(ctx, h.db, t, from, to)
	if err != nil {
		return nil, wrap(op, h.path, err)
	}
	twice, err := countedTwice(ctx, h.db, t, ws, []string{id})
	if err != nil {
		return nil, wrap(op, h.path, err)
	}
	once, listed := notTwice(twice)
	place := make(map[int64]int, len(ws))
	out := make([]Bucket, len(ws))
	for i, w := range ws {
		place[w.at] = i
		out[i] = Bucket{From: time.UnixMilli(w.at), To: time.UnixMilli(w.until), Seconds: w.seconds}
	}
	for _, s := range spans(ws) {
		// For each window the primary key leads to the figures of these few classes.
		_, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
			var at int64
			var n int64
			var sec float64
			var maxSec, p95 sql.NullFloat64
			var errs, sent, examined sql.NullInt64
			if err := r.Scan(&at, &n, &sec, &maxSec, &p95, &errs, &sent, &examined); err != nil {
				return err
			}
			b := &out[place[at]]
			b.Count, b.TimeSec, b.MaxSec, b.P95Sec = uint64(n), sec, float(maxSec), float(p95)
			for _, x := range []struct {
				to   *known.Value[uint64]
				from sql.NullInt64
			}{{&b.Errors, errs}, {&b.Sent, sent}, {&b.Examined, examined}} {
				if x.from.Valid {
					*x.to = known.Of(uint64(x.from.Int64))
				}
			}
			return nil
		},
			`SELECT w.at, sum(f.n), sum(f.sec), CASE WHEN count(f.max) = count(*) THEN max(f.max) END, CASE WHEN count(*) = 1 THEN max(f.p95) END,
			CASE WHEN count(f.errors) = count(*) THEN sum(f.errors) END, CASE WHEN count(f.sent) = count(*) THEN sum(f.sent) END,
			CASE WHEN count(f.examined) = count(*) THEN sum(f.examined) END
			FROM win w CROSS JOIN class c CROSS JOIN figure f ON f.target = w.target AND f.level = w.level AND f.at = w.at AND f.class = c.id
			WHERE w.target = ? AND w.level = ? AND w.at >= ? AND w.at <= ? AND c.class = ?`+once+` GROUP BY w.at`,
			append([]any{t, s.level, s.first, s.last, id}, listed...)...)
		if err != nil {
			return nil, wrap(op, h.path, err)
		}
	}
	return out, nil
}
