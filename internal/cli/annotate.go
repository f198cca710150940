package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
)

func newAnnotateCommand(e *env) *cobra.Command {
	var x event.Event
	var at, until, since string
	var ls bool
	c := &cobra.Command{
		Use:   "annotate TEXT",
		Short: "add a note to the timeline, shown in every graph and report of that time",
		Long: `Stores a one-line note with its time, for one target (--target) or for all. With --list it shows the timeline: notes,
schema changes, restarts, changed variables, runs, actions, and periods without data.`,
		Example: "  dyno annotate 'release 4.2 goes live' --target shop\n  dyno annotate 'batch job' --target shop " +
			"--at '2026-11-21 02:00:00' --until '2026-11-21 03:10:00'\n  dyno annotate --list --since 24h",
		Args: args(0, 1),
	}
	f := c.Flags()
	f.StringVar(&x.Target, "target", "", "target of the note: a name of the inventory or sandbox:NAME (default all)")
	f.StringVar(&at, "at", "", "time, or start time: "+momentForms+" (default now)")
	f.StringVar(&until, "until", "", "end time, for something that lasted, in the same form")
	f.BoolVar(&ls, "list", false, "list the timeline, oldest first")
	f.StringVar(&since, "since", "24h", "with --list: start time, in the same form")
	c.RunE = func(c *cobra.Command, a []string) error {
		now := time.Now()
		if ls {
			if len(a) > 0 || at != "" || until != "" {
				return usagef("--list takes only --target and --since")
			}
			from, err := parseMoment(since, now)
			if err != nil {
				return usagef("--since %s: %v", since, err)
			}
			all, err := app.Actions{App: e.app}.Events(c.Context(), x.Target, from, now)
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-30s %-10s %-16s %s", localTime(), "KIND", "TARGET", "TEXT"), all,
				func(v event.Event) string {
					when := v.At.Local().Format(time.DateTime)
					if !v.Until.IsZero() {
						when += " for " + v.Until.Sub(v.At).Round(time.Second).String()
					}
					return fmt.Sprintf("%-30s %-10s %-16s %s", when, v.Kind, orAll(v.Target), v.Text)
				}, "No events since "+from.Local().Format(time.DateTime)+".")
		}
		if len(a) == 0 {
			return usagef("annotate: the text is missing; usage: %s", c.UseLine())
		}
		x.Text, x.At = a[0], now
		for _, m := range []struct {
			flag, value string
			to          *time.Time
		}{{"--at", at, &x.At}, {"--until", until, &x.Until}} {
			if m.value == "" {
				continue
			}
			v, err := parseMoment(m.value, now)
			if err != nil {
				return usagef("%s %s: %v", m.flag, m.value, err)
			}
			*m.to = v
		}
		kept, err := app.Actions{App: e.app}.Annotate(c.Context(), x)
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(kept)
		}
		e.remark("Noted as %s at %s for %s.", kept.ID, kept.At.Local().Format(time.DateTime), orAll(kept.Target))
		return nil
	}
	return c
}

func orAll(target string) string {
	if target == "" {
		return "all targets"
	}
	return target
}
