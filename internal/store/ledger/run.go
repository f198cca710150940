package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/loadresult"
)

// PutRun stores r, replacing the one of the same id. An option that holds a password is refused with ErrSecret.
func (l *Ledger) PutRun(ctx context.Context, r loadresult.Run) error {
	if r.ID == "" {
		return errors.New("store run: it has no id")
	}
	for k, v := range r.Options {
		if secretKey(k) && v != "" {
			return fmt.Errorf("store run %s: %w in its option %s", r.ID, ErrSecret, k)
		}
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store run %s: %w", r.ID, err)
	}
	return l.write(ctx, "store run "+r.ID, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO run VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			target = excluded.target, workload = excluded.workload, state = excluded.state, started = excluded.started, doc = excluded.doc`,
			r.ID, r.Target, r.Workload, string(r.State), millis(r.Started), string(doc))
		return err
	})
}

// Run returns the run of that id, or ErrNotFound.
func (l *Ledger) Run(ctx context.Context, id string) (loadresult.Run, error) {
	return one[loadresult.Run](ctx, l.book, "run", id, "SELECT doc FROM run WHERE id = ?", id)
}

// Runs returns the latest runs on a target, or on all with target "", newest first; all of them when n is 0.
func (l *Ledger) Runs(ctx context.Context, target string, n int) ([]loadresult.Run, error) {
	return list[loadresult.Run](ctx, l.book, "runs", nil, "SELECT doc FROM run WHERE ?1 = '' OR target = ?1 ORDER BY "+
		"started DESC, id DESC LIMIT ?2", target, limit(n))
}
