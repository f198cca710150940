package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Member is one target of the fleet as it is now.
type Member struct {
	Entry   ledger.Target
	State   *state.State // nil until the first reading
	Sources []snapshot.Source
	// Incidents are the ongoing ones, in order of their start.
	Incidents []Incident
	// Denied is what the account may not see of what judgement needs; nil when it may see all, and while the server is
	// down.
	Denied *diagnose.Denial
	// Account is name@host, as the server took Dyno for; empty until it was logged in to.
	Account string
}

// Fleet returns every target that is watched, by name.
func (s *Service) Fleet() []Member {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []Member
	for _, m := range s.fleet {
		m.mu.RLock()
		all = append(all, Member{m.entry, m.state, m.sources, m.open(), m.denied(), m.account})
		m.mu.RUnlock()
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Entry.Name, b.Entry.Name) })
	return all
}

// Every is the time between two rounds.
func (s *Service) Every() time.Duration { return cmp.Or(s.o.Every, time.Second) }

// Find returns one target of the fleet.
func (s *Service) Find(name string) (Member, bool) {
	for _, m := range s.Fleet() {
		if m.Entry.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Newest returns the newest sample of every live series of a target.
func (s *Service) Newest(name string) ([]metric.Sample, bool) {
	s.mu.RLock()
	m := s.fleet[name]
	s.mu.RUnlock()
	if m == nil {
		return nil, false
	}
	return m.newest(), true
}

// Annotate keeps a note, see app.App.Annotate. A target must be of the fleet or of the inventory.
func (s *Service) Annotate(ctx context.Context, e event.Event) (event.Event, error) {
	if e.At.IsZero() {
		e.At = clock.Now()
	}
	return s.app.Annotate(ctx, e)
}

// NewestEvents returns the newest n marks, of some kinds or with none of all, see app.App.Events.
func (s *Service) NewestEvents(ctx context.Context, target string, kinds []string, from, to time.Time,
	n int,
) ([]event.Event, error) {
	return s.ledger.NewestEvents(ctx, target, kinds, from, to, n)
}

// Known reports whether a target is watched or was once.
func (s *Service) Known(ctx context.Context, name string) (bool, error) {
	if _, ok := s.Find(name); ok {
		return true, nil
	}
	_, err := s.ledger.Target(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
