package postgres

import (
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/state"
)

// Headline implements family.Figures.
func (Family) Headline() *state.Names { return sources.Headline }
