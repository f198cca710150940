package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/journal"
)

// mostEntry is the size of the largest entry, bytes: whoever lists the journal reads them whole.
const mostEntry = 8 << 20

// PutEntry stores e, replacing the one of the same id. When it returns nil the entry is on the disk, also after a power
// cut: only then may the first statement be sent.
func (l *Ledger) PutEntry(ctx context.Context, e journal.Entry) error {
	if e.ID == "" {
		return errors.New("store action: it has no id")
	}
	if err := withoutPassword("store action "+e.ID, e.URL); err != nil {
		return err
	}
	doc, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("store action %s: %w", e.ID, err)
	}
	if len(doc) > mostEntry {
		return fmt.Errorf("store action %s: it has %d bytes, and may have %d", e.ID, len(doc), mostEntry)
	}
	return l.write(ctx, "store action "+e.ID, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO entry VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			target = excluded.target, state = excluded.state, planned = excluded.planned, doc = excluded.doc`,
			e.ID, e.Target, string(e.State), millis(e.Planned), string(doc))
		return err
	})
}

// Entry returns the entry of the journal with that id, or ErrNotFound.
func (l *Ledger) Entry(ctx context.Context, id string) (journal.Entry, error) {
	return one[journal.Entry](ctx, l.book, "action", id, "SELECT doc FROM entry WHERE id = ?", id)
}

// Entries returns the latest entries for a target, or for all with target "", newest first; all of them when n is 0.
func (l *Ledger) Entries(ctx context.Context, target string, n int) ([]journal.Entry, error) {
	return list[journal.Entry](ctx, l.book, "actions", nil, "SELECT doc FROM entry WHERE ?1 = '' OR target = ?1 "+
		"ORDER BY planned DESC, id DESC LIMIT ?2", target, limit(n))
}

// Outcomes returns entries as Entries does, without what was done: definitions in there may be large.
func (l *Ledger) Outcomes(ctx context.Context, target string, n int) ([]journal.Entry, error) {
	return list[journal.Entry](ctx, l.book, "actions", nil, "SELECT json_remove(doc, '$.action') FROM entry WHERE ?1 "+
		"= '' OR "+
		"target = ?1 ORDER BY planned DESC, id DESC LIMIT ?2", target, limit(n))
}
