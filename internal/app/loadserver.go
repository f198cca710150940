package app

import (
	"context"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
)

// loads is a family whose servers can be loaded.
type loads interface {
	OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error)
}

// loadable is a server of one.
type loadable interface{ Load() load.Server }

// programs is a family whose programs can log in to a server that a command is told of.
type programs interface{ Programs() load.Programs }

// Open resolves and connects to a server of any family, to load it. The caller closes it.
func (a Runs) Open(ctx context.Context, text string, login Login) (load.Server, error) {
	spec, err := a.Resolve(ctx, text, login)
	if err != nil {
		return nil, err
	}
	f := familyOf(spec)
	if x, ok := f.(loads); ok {
		return x.OpenLoad(ctx, spec)
	}
	s, err := f.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return Loading(s)
}

// Loading returns a server that was reached as what can be loaded. To close either closes both.
func Loading(s family.Server) (load.Server, error) {
	x, err := family.Need[loadable](s, "run a load")
	if err != nil {
		return nil, err
	}
	return x.Load(), nil
}
