package app

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/incident"
)

// Incidents returns the newest n incidents of a target, or of all with target "", that reach into a time, newest first.
// A target that has none and is not in the inventory is an error, so that a slip of the pen is no good news.
func (a Diagnosing) Incidents(
	ctx context.Context, target string, from, to time.Time, n int,
) ([]incident.Incident, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.Incidents.Newest(ctx, target, from, to, n)
	if err == nil && len(all) == 0 && target != "" {
		_, err = a.Locate(ctx, target, &Login{})
	}
	for i := range all {
		all[i] = all[i].AsOf(clock.Now())
	}
	return all, err
}

// Incident returns one incident. Unknown: ledger.ErrNotFound.
func (a Diagnosing) Incident(ctx context.Context, id string) (incident.Incident, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return incident.Incident{}, err
	}
	i, err := l.Incidents.Get(ctx, id)
	return i.AsOf(clock.Now()), err
}
