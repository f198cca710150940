package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/userfile"
)

func newReportCommand(e *env) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use: "report ID | ls",
		Short: "show a stored demo, diagnosis, proof, run or comparison, as text, Markdown, HTML or JSON; ls lists " +
			"them",
		Args: args(0, 1),
	}
	c.Flags().StringVar(&format, "format", "text", "text, md, html or json")
	c.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	c.RunE = func(c *cobra.Command, a []string) error {
		if len(a) == 0 || a[0] == "ls" {
			return listStored(c.Context(), e)
		}
		if e.json() {
			format = "json"
		}
		var render func(io.Writer, *report.Document) error
		switch format {
		case "text":
			render = func(w io.Writer, d *report.Document) error {
				return report.Text(w, d, report.Options{Width: e.width(), Color: e.color() && out == ""})
			}
		case "md", "markdown":
			render = report.Markdown
		case "html":
			render = report.HTML
		case "json":
			render = report.JSON
		default:
			return usagef("--format %s: it takes text, md, html or json", format)
		}
		doc, err := app.Reports{App: e.app}.Report(c.Context(), a[0])
		if err != nil {
			return err
		}
		if out == "" {
			return render(raw(e.Out), doc)
		}
		if err := userfile.Replace(out, func(w io.Writer) error { return render(w, doc) }); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		return nil
	}
	return c
}

// mostStored bounds the list of reports.
const mostStored = 50

func listStored(ctx context.Context, e *env) error {
	all, err := app.Reports{App: e.app}.Stored(ctx, mostStored)
	if err != nil {
		return err
	}
	return listed(e, fmt.Sprintf("%-10s %-12s %-20s %-20s %s", "ID", "KIND", "TIME (UTC)", "TARGET", "SUMMARY"), all,
		func(x app.Stored) string {
			return fmt.Sprintf("%-10s %-12s %-20s %-20s %s", x.ID, x.Kind, x.At.UTC().Format(time.DateTime), x.Target,
				x.Text)
		}, "No reports yet: `dyno diagnose TARGET` creates one.")
}
