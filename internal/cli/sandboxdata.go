package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/unit"
)

func newSandboxDataCommand(e *env, yard yardFunc) *cobra.Command {
	c := group("data", "data sets that comparisons keep for their trials: ls, rm")
	c.AddCommand(newSandboxDataLsCommand(e, yard), newSandboxDataRmCommand(e, yard))
	return c
}

func newSandboxDataLsCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "list kept data sets, their size and their users", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			all, err := y.DataSets(c.Context())
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-32s %-18s %10s  %s", "DATA", "SERVER", "SIZE", "USED"), all, dataLine,
				"No data sets. A comparison keeps those that it prepares.")
		},
	}
}

func dataLine(d sandbox.DataSet) string {
	if d.Problem != "" {
		return fmt.Sprintf("%-32s cannot be used: %s", d.Key, d.Problem)
	}
	line := fmt.Sprintf("%-32s %-18s %10s  used %s", d.Key, string(d.Flavor)+" "+d.Version,
		unit.Bytes(float64(d.Bytes)), d.Used.Local().Format(time.DateTime))
	if len(d.Users) > 0 {
		line += "  by " + strings.Join(d.Users, ", ")
	}
	return line
}

func newSandboxDataRmCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "rm KEY...", Short: "remove kept data sets that no private server uses",
		Args: args(1, 1000), RunE: func(c *cobra.Command, a []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			return each(a, func(key string) error { return y.RemoveData(c.Context(), key) })
		},
	}
}
