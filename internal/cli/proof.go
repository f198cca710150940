package cli

import (
	"time"

	"github.com/spf13/cobra"

	"dyno/internal/app"
	"dyno/internal/capture"
	"dyno/internal/report"
)

func (e *env) proof() *cobra.Command {
	o := capture.Options{}
	c := &cobra.Command{
		Use:   "proof ACTION",
		Short: "before and after of an action on live traffic, per call of the classes it touches",
		Long: `Looks at the live traffic now and compares it with the window in which the finding was made: time and rows examined per
call of the classes that the action touches, and how far the mix of calls has changed meanwhile. Reads only.`,
		Args: args(1, 1),
	}
	c.Flags().DurationVar(&o.Window, "window", app.DefaultWindow, "how long to look, 3s to 10m")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		if o.Window < capture.MinWindow || o.Window > 10*time.Minute {
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		}
		entry, err := e.app.Entry(c.Context(), a[0])
		if err != nil {
			return err
		}
		t, err := e.app.OpenEntry(c.Context(), entry, e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		o.Progress = e.progress()
		p, doc, err := e.app.ProveAndKeep(c.Context(), t, entry, o)
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
