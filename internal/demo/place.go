package demo

import (
	"context"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/load"
)

// place is a private server of a demo, as what the demo does with it wants it.
type place struct {
	family.Server
	load   load.Server  // the same
	faults fault.Server // the same
}

// reach logs in to a private server.
func reach(ctx context.Context, a *app.App, spec endpoint.Spec) (*place, error) {
	s, err := app.Inspection{App: a}.OpenSpec(ctx, spec)
	if err != nil {
		return nil, err
	}
	p := &place{Server: s}
	if p.load, err = app.Loading(s); err == nil {
		p.faults, err = family.Need[fault.Server](s, "plant a fault")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return p, nil
}

// replicate starts a second private server that replicates from the first one, which is still empty, and has the
// diagnosis look at it.
func (d *demo) replicate(ctx context.Context, name string) (err error) {
	d.say("Starting a replica of it, which will be diagnosed.")
	d.twin, d.seen, err = d.up(ctx, name, settingsOf(d, true), limit.Limits{})
	if err != nil {
		return err
	}
	source, err := family.Need[fault.Source](d.t.Server, "make a replica of")
	if err != nil {
		return err
	}
	return source.Replicate(ctx, d.seen.Server, d.box.Port)
}

// caughtUp returns when the replica has what was planted.
func caughtUp(ctx context.Context, d *demo) error {
	source, err := family.Need[fault.Source](d.t.Server, "make a replica of")
	if err != nil {
		return err
	}
	return source.CaughtUp(ctx, d.seen.Server)
}

// settingsOf are those of a server of the demo, of the replica or the one with the load: the family's for all, the
// fault's, and on top what the user asked for.
func settingsOf(d *demo, replica bool) map[string]string {
	list := []map[string]string{d.set.Base}
	if d.needs.Replica != nil {
		list = append(list, d.set.Source)
	}
	list = append(list, d.needs.Settings)
	if replica {
		list = append(list, d.set.Replica, d.needs.Replica)
	}
	return d.set.Merge(append(list, d.o.Settings)...)
}
