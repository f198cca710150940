package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
)

// Events are the timelines of all targets.
type Events struct{ book }

// Put stores e, replacing the one of the same id; without an id it gets a new one.
func (s Events) Put(ctx context.Context, e event.Event) error {
	return s.PutAll(ctx, []event.Event{e})
}

// PutAll is Put for several, in one transaction.
func (s Events) PutAll(ctx context.Context, es []event.Event) error {
	for _, e := range es {
		if e.At.IsZero() {
			return fmt.Errorf("store event %q: it has no time", e.Text)
		}
	}
	return s.write(ctx, "store event", func(tx *sql.Tx) (err error) {
		for _, e := range es {
			if e.ID == "" {
				if e.ID, err = newID(ctx, tx, EventID, time.Now()); err != nil {
					return err
				}
			}
			doc, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if _, err = tx.ExecContext(ctx, `INSERT INTO event VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
				target = excluded.target, kind = excluded.kind, at = excluded.at, until = excluded.until, doc = excluded.doc`,
				e.ID, e.Target, string(e.Kind), millis(e.At), max(millis(e.At), millis(e.Until)),
				string(doc)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Newest is List for the newest n, of some kinds or with none of all.
func (s Events) Newest(ctx context.Context, target string, kinds []string, from, to time.Time,
	n int,
) ([]event.Event, error) {
	only, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	es, err := list[event.Event](ctx, s.book, "events", nil,
		`SELECT doc FROM event WHERE (?1 = '' OR target = ?1 OR target = '') AND until >= ?2 AND at <= ?3
		AND (?4 = 'null' OR kind IN (SELECT value FROM json_each(?4))) ORDER BY at DESC, id DESC LIMIT ?5`, target,
		millis(from), lastOf(to), string(only), n)
	slices.Reverse(es)
	return es, err
}

// lastOf is the end of a time in a query: zero means no bound.
func lastOf(to time.Time) int64 {
	if to.IsZero() {
		return 1 << 62
	}
	return to.UnixMilli()
}

// List returns, in order of time, the events of a target that lie in or reach into the time from from to to, both
// included and to the millisecond. With target "" it returns those of all targets; events that belong to no target are
// always there. A zero from or to means no bound.
func (s Events) List(ctx context.Context, target string, from, to time.Time) ([]event.Event, error) {
	return list[event.Event](ctx, s.book, "events", nil,
		`SELECT doc FROM event WHERE (?1 = '' OR target = ?1 OR target = '') AND until >= ?2 AND at <= ?3
		ORDER BY at, id`, target, millis(from), lastOf(to))
}
