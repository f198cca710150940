package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/report"
)

func newProofCommand(e *env) *cobra.Command {
	o := family.Look{}
	c := &cobra.Command{
		Use:   "proof ACTION",
		Short: "compare live traffic before and after an action, per call of the classes it affects",
		Long: `Observes live traffic now and compares it with the window in which the finding was made: time and rows examined per call
of the classes that the action affects, and how far the mix of calls has changed since then. Reads only.
ACTION is the id that apply prints.`,
		Example: "  dyno proof a-1kq3f9\n  dyno proof a-1kq3f9 --window 60s",
		Args:    args(1, 1),
	}
	c.Flags().DurationVar(&o.Window, "window", app.DefaultWindow, "how long to observe, 3s to 10m")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		if o.Window < family.MinWindow || o.Window > 10*time.Minute {
			return usagef("--window %s: it takes 3s to 10m", o.Window)
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
