package mysql

import (
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/state"
)

// Headline implements family.Figures.
func (Family) Headline() *state.Names { return sources.Headline }
