package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

func newCostCommand(e *env) *cobra.Command {
	var o scrape.Options
	rounds := 10
	every := false
	c := &cobra.Command{
		Use:   "cost TARGET",
		Short: "the overhead of watching a server, per data source",
		Long: `Reads each data source several times, one source at a time, and shows what that costs: server time (wall-clock time of the statements
without the network round trip), CPU time here,
rows and bytes; and the cost per second at the source's read interval. Reads only.`,
		Example: "  dyno cost shop\n  dyno cost shop --all --rounds 30 --output json",
		Args:    args(1, 1),
	}
	c.Flags().IntVar(&rounds, "rounds", rounds, "reads per source, 1 to 1000")
	c.Flags().BoolVar(&every, "all", false, "include the sources that are read only on request")
	c.Flags().StringSliceVar(&o.Sources, "sources", nil, "only these sources")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		if rounds < 1 || rounds > 1000 {
			return usagef("--rounds %d: it takes 1 to 1000", rounds)
		}
		f, err := app.Inspection{App: e.app}.Family(c.Context(), a[0])
		if err != nil {
			return err
		}
		names := app.SourceNames(f)
		if err := watchable(service.Watching{Every: time.Second, Scrape: o}, names); err != nil {
			return err
		}
		if every {
			o.Also = append(o.Also, names...)
		}
		t, err := e.app.Open(c.Context(), a[0], e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		prices, err := app.Cost(c.Context(), t, o, rounds)
		if err != nil {
			return err
		}
		if e.json() {
			return list(e, prices, func(scrape.Price) string { return "" }, "")
		}
		return costTable(e, prices)
	}
	return c
}

func costTable(e *env, prices []scrape.Price) error {
	fmt.Fprintf(e.Out, "%-22s %7s  %30s  %9s  %9s  %6s  %9s  %s\n", "source", "every", "server, avg (min to max)",
		"per s", "CPU here", "rows", "bytes", "n")
	server, client := 0.0, known.Of(0.0)
	for _, p := range prices {
		if p.Reads == 0 {
			fmt.Fprintf(e.Out, "%-22s %7s  %s: %s\n", p.Source, unit.Seconds(p.Every), p.State, p.Reason)
			continue
		}
		s, c := p.PerSecond()
		server += s
		here := unit.Unknown
		if v, ok := c.Get(); ok {
			if sum, ok := client.Get(); ok {
				client = known.Of(sum + v)
			}
			here = fmt.Sprintf("%.2f ms", p.ClientMS.Or(0))
		} else {
			client = known.None[float64]()
		}
		fmt.Fprintf(e.Out, "%-22s %7s  %30s  %9s  %9s  %6.0f  %9s  %d\n", p.Source, unit.Seconds(p.Every),
			fmt.Sprintf("%.2f ms (%.2f to %.2f)", p.ServerMS.Mean, p.ServerMS.Min, p.ServerMS.Max),
			fmt.Sprintf("%.2f ms", s), here, p.Rows, unit.Bytes(p.Bytes), p.Reads)
		if p.State != source.OK {
			fmt.Fprintf(e.Out, "%-22s %s: %s\n", "", p.State, p.Reason)
		}
	}
	here := unit.Unknown
	if v, ok := client.Get(); ok {
		here = fmt.Sprintf("%.2f ms", v)
	}
	_, err := fmt.Fprintf(e.Out, "\nTotal per second: %.2f ms of server time and %s of CPU time here.\n", server, here)
	return err
}
