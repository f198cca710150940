package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/report"
)

func newProofCommand(e *env) *cobra.Command {
	var o app.Proving
	c := &cobra.Command{
		Use:   "proof ACTION",
		Short: "compare live traffic before and after an action, per call of the classes it affects",
		Long: `Compares the time per call of the classes that the action affects before and after it, with a 95 % interval, corrected for
the mix of calls, and gives a verdict: better, worse, same, unstable or invalid, with reasons. The windows come from what
"dyno serve" has stored, or "dyno apply --prove" has recorded; with the same hours of earlier days where these are stored.
When nothing watches the target, a minute of traffic after the change is recorded. Without windows of the time before, it
observes live traffic once and compares it with the window in which the finding was made, which gives no interval.
Reads only. ACTION is the id that apply prints.`,
		Example: "  dyno proof a-1kq3f9\n  dyno proof a-1kq3f9 --before 6h --after 1h",
		Args:    args(1, 1),
	}
	c.Flags().DurationVar(&o.Window, "window", app.DefaultWindow, "how long to observe when nothing is stored of the "+
		"time before the change, 3s to 10m")
	c.Flags().DurationVar(&o.Before, "before", app.DefaultSide, "how much of the stored time before the change "+
		"counts, up to 12h")
	c.Flags().DurationVar(&o.After, "after", app.DefaultSide, "how much of the stored time after the change counts, "+
		"up to 12h")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		if o.Window < family.MinWindow || o.Window > 10*time.Minute {
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		}
		for name, d := range map[string]time.Duration{"before": o.Before, "after": o.After} {
			if d <= 0 || d > app.MostOfSide {
				return usagef("--%s %s: it takes more than 0 and up to 12h", name, d)
			}
		}
		entry, err := app.Actions{App: e.app}.Entry(c.Context(), a[0])
		if err != nil {
			return err
		}
		t, err := app.Actions{App: e.app}.OpenEntry(c.Context(), entry, e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		o.Progress = e.progress()
		p, doc, err := app.Actions{App: e.app}.ProveAndKeep(c.Context(), t, entry, o)
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(p)
		}
		return report.Text(raw(e.Out), doc, report.Options{Width: e.width(), Color: e.color()})
	}
	return c
}
