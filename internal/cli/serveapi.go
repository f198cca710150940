package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/target"
)

// The types here give httpapi what it asks for out of a service.Service, in httpapi's words.

type fleet struct{ s *service.Service }

func (f fleet) Targets(context.Context) ([]httpapi.Target, error) {
	all := []httpapi.Target{}
	for _, m := range f.s.Fleet() {
		t := httpapi.Target{Name: m.Entry.Name}
		if spec, err := target.ParseURL(m.Entry.URL); err == nil {
			t.Address = spec.Address
		}
		if m.State != nil {
			t.Server, t.Up, t.Reason, t.At = m.State.Server, known.Of(m.State.Up), m.State.Reason, m.State.At
			if t.NotConfigured = m.State.NotConfigured; t.NotConfigured {
				t.Up, t.Fix = known.None[bool](), service.FixNotConfigured
			}
			if t.LoginRefused = m.State.LoginRefused; t.LoginRefused {
				t.Up = known.None[bool]()
			}
		}
		t.Incidents, t.Denied, t.Account = m.Incidents, m.Denied, m.Account
		all = append(all, t)
	}
	return all, nil
}

func (f fleet) Latest(_ context.Context, name string) ([]httpapi.Latest, error) {
	if name != "" {
		samples, ok := f.s.Newest(name)
		if !ok {
			return nil, unknownTarget(name)
		}
		return []httpapi.Latest{{Target: name, Samples: samples}}, nil
	}
	var all []httpapi.Latest
	for _, m := range f.s.Fleet() {
		samples, _ := f.s.Newest(m.Entry.Name)
		all = append(all, httpapi.Latest{Target: m.Entry.Name, Samples: samples})
	}
	return all, nil
}

func (f fleet) Sources(_ context.Context, name string) ([]httpapi.Source, error) {
	m, ok := f.s.Find(name)
	if !ok {
		return nil, unknownTarget(name)
	}
	traits := map[source.Name]scrape.Traits{}
	for _, i := range scrape.Sources() {
		traits[i.Name] = i.Traits
	}
	slowed := map[string]float64{} // how many times less often than usual a source is read, for it takes too much
	samples, _ := f.s.Newest(name)
	for _, x := range samples {
		if x.Name == "dyno_source_slowed" {
			slowed[x.Labels.Get("source")] = x.Value
		}
	}
	all := []httpapi.Source{}
	for _, x := range m.Sources {
		s := httpapi.Source{Source: x}
		if t, ok := traits[x.Name]; ok {
			s.Every = max(t.Every, f.s.Every()).Seconds() * slowed[string(x.Name)]
			s.Budget = cmp.Or(t.Budget, 0.01)
			s.Cost, s.Usual, s.Asked, s.Grant, s.About = string(t.Cost), t.Every.Seconds(), t.Asked, t.Grant, t.About
		}
		all = append(all, s)
	}
	return all, nil
}

func (f fleet) Health(context.Context) ([]service.Trouble, error) { return f.s.Health(), nil }

func (f fleet) Price(ctx context.Context, name string, span time.Duration) (service.Price, error) {
	if _, ok := f.s.Find(name); !ok {
		return service.Price{}, unknownTarget(name)
	}
	return f.s.Price(ctx, name, span)
}

type states struct{ s *service.Service }

func (x states) StateAt(ctx context.Context, name string, at time.Time) (*state.State, error) {
	m, watched := x.s.Find(name)
	if at.IsZero() {
		if !watched {
			return nil, unknownTarget(name)
		}
		if m.State == nil {
			return nil, fmt.Errorf("%w: %s has not been read yet", httpapi.ErrUnavailable, name)
		}
		return m.State, nil
	}
	st, err := x.s.History.StateAt(ctx, name, at)
	if errors.Is(err, history.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", httpapi.ErrNotFound, err)
	}
	return st, err
}

func (x states) StateTimes(ctx context.Context, name string, from, to time.Time, limit int) ([]time.Time, error) {
	if ok, err := x.s.Known(ctx, name); err != nil || !ok {
		return nil, errors.Join(err, unknownTarget(name))
	}
	return x.s.History.StateTimes(ctx, name, from, to, limit)
}

type classes struct{ s *service.Service }

func (x classes) Classes(ctx context.Context, name string, from, to time.Time, search string,
	n int,
) (httpapi.ClassList, error) {
	if ok, err := x.s.Known(ctx, name); err != nil || !ok {
		return httpapi.ClassList{}, errors.Join(err, unknownTarget(name))
	}
	l, err := x.s.Classes(ctx, name, from, to, search, n)
	if l.Classes == nil {
		l.Classes = []class.Class{}
	}
	cover := coverage(l.Coverage)
	cover.Rate = l.Rate
	return httpapi.ClassList{Classes: l.Classes, Found: l.Found, Coverage: cover}, err
}

func (x classes) Class(ctx context.Context, name, id string, from, to time.Time) (httpapi.ClassDetail, error) {
	id, err := x.s.History.Name(ctx, id)
	if err != nil {
		return httpapi.ClassDetail{}, err
	}
	all, cover, err := x.s.History.Classes(ctx, name, from, to, 0)
	if err != nil {
		return httpapi.ClassDetail{}, err
	}
	d := httpapi.ClassDetail{Coverage: coverage(cover), Buckets: []httpapi.Bucket{}}
	for _, c := range all {
		switch {
		case c.ID != id:
		case d.Class.ID == "":
			d.Class = c
		default: // the same statement with another default database
			d.Class.Add(c)
		}
	}
	if d.Class.ID == "" {
		return d, fmt.Errorf("%w: %s had no class %s in that time", httpapi.ErrNotFound, name, id)
	}
	line, err := x.s.History.Timeline(ctx, name, id, from, to)
	if err != nil {
		return d, err
	}
	for _, b := range line {
		d.Buckets = append(d.Buckets, httpapi.Bucket{From: b.From, To: b.To, Class: class.Class{
			ID: id, Sampled: d.Class.Sampled, Count: b.Count, TimeSec: b.TimeSec, MaxSec: b.MaxSec, P95Sec: b.P95Sec,
			Errors: b.Errors, RowsSent: b.Sent, Examined: b.Examined,
		}})
	}
	plans, err := x.s.History.Plans(ctx, name, id)
	if err != nil {
		return d, err
	}
	for _, p := range plans {
		d.Plans = append(d.Plans, httpapi.Plan{Hash: p.Hash, FirstSeen: p.First, LastSeen: p.Last, Text: p.Plan.Raw})
	}
	return d, nil
}

func coverage(c history.Coverage) httpapi.Coverage {
	return httpapi.Coverage{
		From: c.From, To: c.To, Seconds: c.Seconds, Classes: c.Classes,
		Count: c.Count, TimeSec: c.TimeSec,
	}
}

type marks struct{ s *service.Service }

func (x marks) Events(ctx context.Context, name string, kinds []string, from, to time.Time,
	n int,
) ([]event.Event, error) {
	return x.s.NewestEvents(ctx, name, kinds, from, to, n)
}

func (x marks) Annotate(ctx context.Context, e event.Event) (event.Event, error) {
	kept, err := x.s.Annotate(ctx, e)
	var unknown *app.UnknownTargetError
	if errors.As(err, &unknown) {
		err = fmt.Errorf("%w: %w", httpapi.ErrNotFound, err)
	}
	return kept, err
}

func unknownTarget(name string) error {
	return fmt.Errorf("%w: no target is called %q; GET /api/dyno/v1/targets lists them", httpapi.ErrNotFound, name)
}
