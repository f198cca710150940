package service

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// StoredDeltas is Metrics.Deltas of what is stored in Dyno's home, whether or not a process is writing there. The
// error is a *WindowError also when nothing ever was stored.
func StoredDeltas(ctx context.Context, a *app.App, target string, from, to time.Time) (d Deltas, err error) {
	b, err := series.Borrow(ctx, a.SeriesDir(), from.Add(-deltaLookBack).UnixMilli(), to.UnixMilli())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, neverWatched(target)
	case err != nil:
		return d, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	l, err := a.Ledger(ctx)
	if err != nil {
		return d, err
	}
	return (&Metrics{series: b.Store, ledger: l}).Deltas(ctx, target, from, to)
}
