package postgres

import (
	"math"
	"strconv"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Headline implements family.Figures.
func (Family) Headline() *state.Names { return sources.Headline }

// Help implements family.Figures: none is written yet.
func (Family) Help(string) string { return "" }

// Names implements family.Figures. Statements are counted without Dyno's own, by class, and rows as
// metric.RowsReadTotal.
func (Family) Names() family.Names {
	return family.Names{Telling: telling}
}

// telling is as of family.Names. Sizes are numbers of pages, of kB or of MB in the catalog, which tell nothing without
// their unit (manual, 20.1. Setting Parameters).
func telling(settings map[string]string) (all []family.Setting) {
	page, err := strconv.ParseFloat(settings["block_size"], 64)
	if err != nil {
		page = math.NaN()
	}
	for _, x := range []struct {
		name string
		of   float64 // bytes
	}{
		{"shared_buffers", page},
		{"work_mem", 1 << 10},
		{"max_wal_size", 1 << 20},
		{"synchronous_commit", 0},
		{"wal_level", 0},
		{"track_io_timing", 0},
	} {
		v, ok := settings[x.name]
		if x.of != 0 {
			n, err := strconv.ParseFloat(v, 64)
			v, ok = unit.Bytes(n*x.of), err == nil && !math.IsNaN(x.of)
		}
		if ok {
			all = append(all, family.Setting{Name: x.name, Value: v})
		}
	}
	return all
}
