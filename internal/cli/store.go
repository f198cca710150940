package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/service"
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
	return group("store", "the data that Dyno stores: check, usage, limits", check, newStoreUsageCommand(e),
		newStoreLimitCommand(e))
}

// storeKinds are the kinds of data that have a limit, as the command line calls them.
var storeKinds = []string{
	"series", "minutes", "states", "incidents", "classes", "locks", "plans", "events", "diagnoses",
}

func newStoreLimitCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "limit KIND SIZE",
		Short: "change how much disk space a kind of data may take",
		Long: `Changes how much disk space a kind of data may take, for a dyno serve that runs and for later starts. KIND is series,
minutes, states, incidents (their states), classes, locks, plans (plans, and as much again for examples), events or
diagnoses (with reports). The oldest data is deleted first, and a target that takes no more than an equal part loses nothing
early. The journal has no limit.
--max-size of dyno serve overrides series and minutes.`,
		Example:   "  dyno store limit states 500M\n  dyno store limit classes 2G",
		Args:      args(2, 2),
		ValidArgs: storeKinds,
		RunE: func(_ *cobra.Command, a []string) error {
			if !slices.Contains(storeKinds, a[0]) {
				return usagef("unknown kind %q: it is %s", a[0], strings.Join(storeKinds, ", "))
			}
			n, err := unit.ParseSize(a[1])
			if err == nil {
				err = service.WriteRetention(e.app, "max-"+a[0], float64(n))
			}
			if err != nil {
				return usagef("%w", err)
			}
			e.remark("Limit of %s: %s. A running dyno serve deletes the excess within minutes, oldest first.", a[0],
				unit.Bytes(float64(n)))
			return nil
		},
	}
}

func newStoreUsageCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "usage",
		Short: "list the stored data by kind: size, limit, age, growth",
		Long: "Lists the stored data by kind with its size, its limit, its growth per day, and in how many days it " +
			"reaches the limit if its age does not delete it before. Flags that a running dyno serve was started " +
			"with are not known here; Settings, Retention in the web UI has them.",
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := service.Usage(c.Context(), e.app)
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-22s %10s %10s  %-12s %-20s %10s  %s", "KIND", "SIZE", "LIMIT", "ROWS",
				"SINCE", "PER DAY", "FULL IN"), all, func(k service.Keeping) string {
				rows, since, full := "", "", ""
				if k.Rows > 0 {
					rows = unit.Count(float64(k.Rows))
				}
				if !k.Oldest.IsZero() {
					since = k.Oldest.Local().Format(time.DateTime)
				}
				if d, ok := k.FullIn.Get(); ok {
					full = fmt.Sprintf("%.0f days", d)
				}
				size := func(v known.Value[float64]) string {
					n, ok := v.Get()
					if !ok {
						return ""
					}
					return unit.Bytes(n)
				}
				return strings.TrimRight(fmt.Sprintf("%-22s %10s %10s  %-12s %-20s %10s  %s", k.Kind,
					unit.Bytes(float64(k.Bytes)), size(k.Limit), rows, since, size(k.Growth), full), " ")
			}, "Nothing is stored yet.")
		},
	}
}
