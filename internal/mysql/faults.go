package mysql

import (
	"context"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/apply"
	myfault "github.com/dyno-perf/dyno/internal/mysql/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

var (
	_ fault.Server = Server{}
	_ fault.Source = Server{}
)

// Faults returns what the family has of faults.
func (Family) Faults() fault.Set { return myfault.Set() }

// Plant implements fault.Server.
func (s Server) Plant(ctx context.Context, f fault.Fault, seed uint64, sink progress.Sink) error {
	return myfault.Plant(ctx, s.Target, s.Load(), f, seed, nil, sink)
}

// Way implements fault.Server. Servers that cannot hide an index build it too slowly to do so between two windows.
func (s Server) Way(k finding.ActionKind) fault.Way {
	switch {
	case k == finding.AddIndex && (s.Has(target.HasInvisibleIndex) || s.Has(target.HasIgnoredIndex)),
		k == finding.HideIndex:
		return fault.Hiding
	case k == finding.SetVariable:
		return fault.Setting
	}
	return fault.Once
}

// Turn implements fault.Server.
func (s Server) Turn(ctx context.Context, a finding.Action, on bool) error {
	switch {
	case a.Kind == finding.SetVariable:
		q := a.Undo
		if on {
			q = a.SQL
		}
		_, err := s.DB().ExecContext(ctx, sqltext.Tagged("demo", "", q))
		return s.Wrap("set "+a.Variable+" on", err)
	case on == (a.Kind == finding.HideIndex):
		return apply.Hide(ctx, s.Target, a.Table, a.Index.Name)
	}
	return apply.Show(ctx, s.Target, a.Table, a.Index.Name)
}

// Replicate implements fault.Source.
func (s Server) Replicate(ctx context.Context, replica family.Server, port int) error {
	to, err := Target(replica, "replicate to")
	if err != nil {
		return err
	}
	return myfault.Replicate(ctx, s.Target, to, port)
}

// CaughtUp implements fault.Source.
func (s Server) CaughtUp(ctx context.Context, replica family.Server) error {
	to, err := Target(replica, "replicate to")
	if err != nil {
		return err
	}
	return myfault.CaughtUp(ctx, s.Target, to)
}
