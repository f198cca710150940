package cli

import (
	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/unit"
)

// loadWarmup reads the tables of a workload into the server's memory.
func loadWarmup(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) error {
	t, err := needs[load.Warmer](s, "warmup")
	if err != nil {
		return err
	}
	read, err := t.Warm(c.Context(), o.data(cfg), e.progress())
	for _, r := range read {
		e.remark("Read %s: %s rows, %s.", r.Table, unit.Count(float64(r.Rows)),
			unit.Plural(r.Indexes, "index", "indexes"))
	}
	return err
}
