package service

import (
	"context"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/source"
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

// rights follows what the account of a target may do until that changes or ctx ends.
func (s *Fleet) rights(ctx context.Context, m *member, server family.Server) {
	t, ok := server.(family.Limited)
	if !ok {
		<-ctx.Done()
		return
	}
	had, err := t.Privileges(ctx)
	var due time.Time // of a change; zero without one
	for known := err == nil; wait(ctx, rightsEvery); {
		var hidden *source.Source
		if x, ok := t.Unseen(ctx, m.newest()); ok {
			hidden = &x
		}
		m.mu.Lock()
		m.hidden = hidden
		m.mu.Unlock()
		has, err := t.Privileges(ctx)
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
