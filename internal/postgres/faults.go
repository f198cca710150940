package postgres

import (
	"context"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	pgfault "github.com/dyno-perf/dyno/internal/postgres/fault"
	"github.com/dyno-perf/dyno/internal/progress"
)

var _ fault.Server = Server{}

// Faults returns what the family has of faults.
func (Family) Faults() fault.Set { return pgfault.Set() }

// Plant implements fault.Server.
func (s Server) Plant(ctx context.Context, f fault.Fault, seed uint64, sink progress.Sink) error {
	return f.Prepare(ctx, s.Load(), seed, nil, sink)
}

// Way implements fault.Server. An index cannot be hidden here; built CONCURRENTLY it stops nobody.
func (Server) Way(k finding.ActionKind) fault.Way {
	switch k {
	case finding.AddIndex:
		return fault.Rebuilding
	case finding.SetVariable:
		return fault.Setting
	case finding.DropIndex, finding.HideIndex, finding.AlterTable, finding.SetKernel, finding.KillSession:
	}
	return fault.Once
}

// Turn implements fault.Server.
func (s Server) Turn(ctx context.Context, a finding.Action, on bool) error {
	step, err := s.Changer().Step(a, change.Options{})
	if err != nil {
		return err
	}
	if on {
		return step.Apply(ctx, nil, func(string) {})
	}
	return step.Revert(ctx, nil, func(string) {})
}
