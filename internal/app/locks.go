package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// Locks returns the stored deadlocks and lock waits of a target. It may be asked while dyno serve writes.
func (a Stores) Locks(ctx context.Context, target string, from, to time.Time, most int) (x history.Locks, err error) {
	err = a.past(ctx, func(h *history.History) (err error) {
		x, err = h.Locks.Between(ctx, target, from, to, most)
		return err
	})
	return x, err
}

// Deadlock returns one of them.
func (a Stores) Deadlock(ctx context.Context, target, id string) (d lock.Deadlock, err error) {
	d.ID = id
	err = a.past(ctx, func(h *history.History) (err error) {
		d, err = h.Locks.Deadlock(ctx, target, id)
		return err
	})
	if err == nil && len(d.Parties) == 0 {
		err = fmt.Errorf("deadlock %q of %q: %w", id, target, history.ErrNotFound)
	}
	return d, err
}

// past asks the history, if there is one: looking leaves no trace.
func (a Stores) past(ctx context.Context, ask func(*history.History) error) error {
	if _, err := os.Stat(a.HistoryPath()); err != nil {
		return nil //nolint:nilerr // nothing was stored yet
	}
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		return err
	}
	return errors.Join(ask(h), h.Close())
}
