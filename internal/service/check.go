package service

import (
	"context"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/target"
)

const (
	// rightsEvery is how often the privileges of a watched account are read.
	rightsEvery = 5 * time.Second
	// rightsOften is how many changes of them begin a session anew at once. Further ones wait, twice as long each time
	// and rightsMost at the most, until none has come for rightsCalm: whoever may grant something on a schema of his
	// can change them all the time.
	rightsOften = 5
	rightsMost  = 5 * time.Minute
	rightsCalm  = 15 * time.Minute
)

// rightsPause returns how long a change of an account's privileges waits that comes at now.
func (m *member) rightsPause(now time.Time) time.Duration {
	if now.Sub(m.rightsAt) > rightsCalm {
		m.rightsTimes = 0
	}
	m.rightsAt = now
	m.rightsTimes++
	if m.rightsTimes <= rightsOften {
		return 0
	}
	return min(rightsEvery<<min(m.rightsTimes-rightsOften-1, 10), rightsMost)
}

// privileges asks for what a target's account may do.
func privileges(ctx context.Context, t *target.Target) ([]string, error) {
	conn, err := t.ReadingConn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return target.Privileges(ctx, conn)
}

// rights follows what the account of a target may do until that changes or ctx ends.
func (s *Fleet) rights(ctx context.Context, m *member, t *target.Target) {
	had, err := privileges(ctx, t)
	var due time.Time // of a change; zero without one
	for known := err == nil; wait(ctx, rightsEvery); {
		var hidden *source.Source
		if x, ok := app.Unseen(ctx, t, m.newest()); ok {
			hidden = &x
		}
		m.mu.Lock()
		m.hidden = hidden
		m.mu.Unlock()
		has, err := privileges(ctx, t)
		switch {
		case err != nil: // the server is away, or does not say
		case !known:
			had, known = has, true
		case slices.Equal(has, had):
			due = time.Time{}
		default:
			now := time.Now()
			if due.IsZero() {
				due = now.Add(m.rightsPause(now))
			}
			if !now.Before(due) {
				return
			}
		}
	}
}

// denied returns what the account may not see of what judgement needs; nil when it may see all, and while the server is
// down. The caller holds m.mu.
func (m *member) denied() *diagnose.Denial {
	if m.state == nil || !m.state.Up {
		return nil
	}
	sources := slices.Clone(m.sources)
	for _, x := range m.state.Sources { // those of query classes too
		if !slices.ContainsFunc(sources, func(y source.Source) bool { return y.Name == x.Name }) {
			sources = append(sources, x)
		}
	}
	if m.hidden != nil {
		sources = append(sources, *m.hidden)
	}
	if d, ok := diagnose.DeniedOf(sources); ok {
		return &d
	}
	return nil
}
