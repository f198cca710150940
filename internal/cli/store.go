package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/unit"
)

func newStoreCommand(e *env) *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "check the stored data for damage, and show what is lost",
		Args:  args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := app.Stores{App: e.app}.CheckStores(c.Context())
			if err != nil {
				return err
			}
			whole := true
			for _, r := range all {
				whole = whole && r.OK
				if e.json() {
					if err := e.writeJSON(r); err != nil {
						return err
					}
					continue
				}
				fmt.Fprint(e.Out, r.Text)
			}
			if !whole {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	return group("store", "the data that Dyno stores: check, usage", check, newStoreUsageCommand(e))
}

func newStoreUsageCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "usage",
		Short: "list the stored data by kind: size, age, growth",
		Long: "Lists the stored data by kind with its size and its growth per day. `dyno serve --help` shows the " +
			"retention of each kind.",
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := app.Stores{App: e.app}.Usage(c.Context())
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-22s %10s  %-12s %-25s %s", "KIND", "SIZE", "ROWS", "SINCE", "PER DAY"), all,
				func(k app.Kept) string {
					rows, since, day := "", "", ""
					if k.Rows > 0 {
						rows = unit.Count(float64(k.Rows))
					}
					if !k.Oldest.IsZero() {
						since = k.Oldest.Local().Format(time.DateTime)
					}
					if k.PerDay > 0 {
						day = unit.Bytes(k.PerDay)
					}
					return fmt.Sprintf("%-22s %10s  %-12s %-25s %s", k.Kind, unit.Bytes(float64(k.Bytes)), rows, since,
						day)
				}, "Nothing is stored yet.")
		},
	}
}
