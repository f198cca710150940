package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"dyno/internal/report"
)

func (e *env) report() *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "report ID",
		Short: "any stored demo, diagnosis, proof, run or comparison, as text, Markdown, HTML or JSON",
		Args:  args(1, 1),
	}
	c.Flags().StringVar(&format, "format", "text", "text, md, html or json")
	c.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	c.RunE = func(c *cobra.Command, a []string) error {
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
		doc, err := e.app.Report(c.Context(), a[0])
		if err != nil {
			return err
		}
		if out == "" {
			return render(raw(e.Out), doc)
		}
		if err := replaceFile(out, 0o666, func(w io.Writer) error { return render(w, doc) }); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		return nil
	}
	return c
}
