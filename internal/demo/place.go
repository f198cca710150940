package demo

import (
	"context"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// place is a private server of a demo, as what the demo does with it wants it.
type place struct {
	family.Server
	load load.Server    // the same
	my   *target.Target // the same of MySQL's family, nil for others
}

// reach logs in to a private server.
func reach(ctx context.Context, a *app.App, spec endpoint.Spec) (*place, error) {
	s, err := app.Inspection{App: a}.OpenSpec(ctx, spec)
	if err != nil {
		return nil, err
	}
	p := &place{Server: s}
	if p.load, err = app.Loading(s); err != nil {
		s.Close()
		return nil, err
	}
	p.my, _ = app.Reached(s, "") // nil for other families
	return p, nil
}

// stepOf returns how an action that was carried out is taken back and carried out again.
func (p *place) stepOf(a finding.Action) (change.Step, error) {
	c, err := app.ChangerOf(p.Server)
	if err != nil {
		return change.Step{}, err
	}
	return c.Step(a, change.Options{})
}
