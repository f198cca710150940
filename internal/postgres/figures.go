package postgres

import (
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/state"
)

// Headline implements family.Figures.
func (Family) Headline() *state.Names { return sources.Headline }

// Help implements family.Figures: none is written yet.
func (Family) Help(string) string { return "" }

// Names implements family.Figures. Statements are counted without Dyno's own, by class, and rows as
// metric.RowsReadTotal.
func (Family) Names() family.Names {
	return family.Names{Telling: []string{
		"shared_buffers", "work_mem", "max_wal_size", "synchronous_commit", "wal_level", "track_io_timing",
	}}
}
