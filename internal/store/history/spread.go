package history

import (
	"context"
	"database/sql"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// ofServer stands in place of the number of a class for all statements of a server.
const ofServer = 0

// Distribution is how the times of statements were distributed in one window: those of a class, or of the server.
type Distribution struct {
	From, To time.Time
	Seconds  float64 // that were watched
	Covered  float64 // seconds of these of which there is a distribution
	Origin   class.Origin
	Own      uint64 // of the server's: statements of Dyno among them
	Count    uint64 // of a class: its statements in the window, with a distribution or not
	// Reason says of the server's windows why there is none, or none of the classes, in part of the window.
	Reason string
	Times  *sketch.Bins // nanoseconds; nil where there is none
}

// spreads keeps distributions within the transaction that keeps the window they are of.
type spreads struct {
	tx     *sql.Tx
	target int64
	dist   *class.Distributions
	number func(id, schema string) int64 // of a class; 0 for one that is not in the window
}

// put adds the distributions to the window of a level.
func (s spreads) put(ctx context.Context, level, at int64) error {
	d := s.dist
	sec := d.To.Sub(d.From).Seconds()
	if d.Server == nil {
		sec = 0
	}
	if err := s.add(ctx, level, at, ofServer, sec, d.Server); err != nil {
		return err
	}
	for _, c := range d.Classes {
		n := s.number(c.ID, c.Schema)
		if n == ofServer || c.Times == nil {
			continue
		}
		if err := s.add(ctx, level, at, n, d.To.Sub(d.From).Seconds(), c.Times); err != nil {
			return err
		}
	}
	return nil
}

// add adds one distribution to what the window has; nil adds none.
func (s spreads) add(ctx context.Context, level, at, number int64, sec float64, b *sketch.Bins) error {
	all := new(sketch.Bins)
	var origin class.Origin
	var doc []byte
	err := s.tx.QueryRowContext(ctx,
		"SELECT origin, bins FROM spread WHERE target = ? AND level = ? AND at = ? AND class = ?",
		s.target, level, at, number).Scan(&origin, &doc)
	if err == nil && doc != nil {
		*all, _, err = sketch.ReadBins(doc)
	}
	if err != nil && err != sql.ErrNoRows { //nolint:errorlint // Scan returns it as it is
		return err
	}
	if b != nil {
		all.Merge(b)
	}
	if doc = nil; all.Count() > 0 {
		doc = all.AppendBinary(nil)
	}
	own, reason := whole(s.dist.Own), s.dist.Reason
	if number != ofServer {
		own, reason = 0, ""
	}
	_, err = s.tx.ExecContext(ctx, `INSERT INTO spread VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
		sec = sec + excluded.sec, own = own + excluded.own, origin = excluded.origin,
		reason = CASE WHEN excluded.reason = '' THEN reason ELSE excluded.reason END, bins = excluded.bins`,
		s.target, level, at, number, sec, own, string(class.Mixed(origin, s.dist.Origin)), reason, doc)
	return err
}

// ReadDistributions returns how the times of the statements of a class were distributed, all its schemas together; of
// an empty id those of all statements of the server. Windows are those of Timeline, and each has one, without Times
// where there is none. Sketches of minutes are merged into hours and days without loss.
func ReadDistributions(
	ctx context.Context, h *History, target, id string, from, to time.Time,
) ([]Distribution, error) {
	const op = "read distributions"
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, wrap(op, h.path, err)
	}
	ws, err := courseWindows(ctx, h.db, t, from, to)
	if err != nil {
		return nil, wrap(op, h.path, err)
	}
	place := make(map[int64]int, len(ws))
	out := make([]Distribution, len(ws))
	for i, w := range ws {
		place[w.at] = i
		out[i] = Distribution{From: time.UnixMilli(w.at), To: time.UnixMilli(w.until), Seconds: w.seconds}
	}
	of := "CROSS JOIN (SELECT 0 AS id) c"
	if id != "" {
		of = "CROSS JOIN (SELECT id FROM class WHERE class = ?5 UNION ALL SELECT 0) c"
	}
	for _, s := range spans(ws) {
		_, err := query(ctx, h.db, func(r *sql.Rows, _ *struct{}) error {
			var at, number, own int64
			var sec float64
			var origin, reason string
			var doc []byte
			if err := r.Scan(&at, &number, &sec, &own, &origin, &reason, &doc); err != nil {
				return err
			}
			d := &out[place[at]]
			if number == ofServer {
				d.Reason = reason
				if d.Origin == "" {
					d.Origin = class.Origin(origin)
				}
				if id != "" {
					return nil
				}
				d.Own = uint64(own)
			}
			d.Covered = max(d.Covered, sec)
			if doc == nil {
				return nil
			}
			b, _, err := sketch.ReadBins(doc)
			if err != nil {
				return err
			}
			if d.Times == nil {
				d.Times = new(sketch.Bins)
			}
			d.Times.Merge(&b)
			return nil
		}, `SELECT w.at, s.class, s.sec, s.own, s.origin, s.reason, s.bins FROM win w `+of+`
			CROSS JOIN spread s ON s.target = w.target AND s.level = w.level AND s.at = w.at AND s.class = c.id
			WHERE w.target = ?1 AND w.level = ?2 AND w.at >= ?3 AND w.at <= ?4`, t, s.level, s.first, s.last, id)
		if err != nil {
			return nil, wrap(op, h.path, err)
		}
	}
	if id == "" {
		return out, nil
	}
	line, err := h.Timeline(ctx, target, id, from, to)
	for _, b := range line {
		if i, ok := place[b.From.UnixMilli()]; ok {
			out[i].Count = b.Count
		}
	}
	return out, err
}
