package app

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Stores are the files that Dyno keeps its data in, and the experiments.
type Stores struct{ *App }

// StoreHealth is what a check of one store found.
type StoreHealth struct {
	Path string `json:"path"`
	OK   bool   `json:"ok"`
	Text string `json:"text"` // for people, ends with a line end
}

// CheckStores checks everything that Dyno keeps: the ledger, the history, the users, the series, and the recordings of
// the reports.
func (a Stores) CheckStores(ctx context.Context) ([]StoreHealth, error) {
	r, err := ledger.Check(ctx, a.LedgerPath())
	if err != nil {
		return nil, err
	}
	all := []StoreHealth{{a.LedgerPath(), r.OK(), r.Text()}}
	h, err := history.Check(ctx, a.HistoryPath())
	if err != nil {
		return nil, err
	}
	all = append(all, StoreHealth{a.HistoryPath(), h.OK(), h.Text()})
	u, err := access.Check(ctx, a.AccessPath())
	if err != nil {
		return nil, err
	}
	all = append(all, StoreHealth{a.AccessPath(), u.OK(), u.Text()})
	dirs, err := filepath.Glob(filepath.Join(a.Home, "reports", "*", "series"))
	if err != nil {
		return nil, err
	}
	for _, d := range append([]string{a.SeriesDir()}, dirs...) {
		r, err := series.Check(ctx, d)
		switch {
		case errors.Is(err, series.ErrBusy): // a demo or dyno serve is writing it right now
			all = append(all, StoreHealth{d, true, d + ": in use, not checked\n"})
		case err != nil:
			return all, err
		default:
			all = append(all, StoreHealth{d, r.OK(), r.Text()})
		}
	}
	return all, nil
}
