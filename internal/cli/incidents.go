package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/incident"
)

// mostIncidents is how many incidents a list has at most.
const mostIncidents = 1000

func newIncidentsCommand(e *env) *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:   "incidents [TARGET]",
		Short: "list the incidents that dyno serve detected: when, how long, what, and the worst finding",
		Long: `Lists what went wrong with a target, or with all, while dyno serve watched: lock pile-ups, saturation, refused
connections, a server that was down, and findings that were new. What overlaps or follows within a minute is one
incident. The states of its worst seconds are stored for as long as query classes (--keep-classes of dyno serve) and
within a limit of their own, 256 MiB by default: "dyno watch TARGET --at TIME" shows them.`,
		Example: "  dyno incidents\n  dyno incidents shop --since 30d\n  dyno incidents show i-tgyk3l-shop",
		Args:    args(0, 1),
	}
	c.Flags().StringVar(&since, "since", "7d", "start time: "+momentForms)
	c.RunE = func(c *cobra.Command, a []string) error {
		now := time.Now()
		from, err := parseMoment(since, now)
		if err != nil {
			return usagef("--since %s: %v", since, err)
		}
		name := ""
		if len(a) > 0 {
			name = a[0]
		}
		all, err := app.Diagnosing{App: e.app}.Incidents(c.Context(), name, from, now, mostIncidents)
		if err != nil {
			return err
		}
		heads := fmt.Sprintf("%-24s %-19s %9s %-9s %s", "ID", localTime(), "DURATION", "SEVERITY", "INCIDENT")
		return listed(e, heads, all,
			func(i incident.Incident) string {
				what := i.Title
				if len(i.Findings) > 0 && i.Findings[0].Title != i.Title {
					what += "; worst finding: " + i.Findings[0].Title
				}
				return fmt.Sprintf("%-24s %-19s %9s %-9s %s", i.ID, i.From.Local().Format(time.DateTime), lasted(i),
					i.Severity, what)
			}, "No incidents since "+from.Local().Format(time.DateTime)+". `dyno serve` detects them while it runs.")
	}
	show := &cobra.Command{
		Use:     "show ID",
		Short:   "show one incident: its conditions, findings and worst second",
		Example: "  dyno incidents show i-tgyk3l-shop",
		Args:    args(1, 1),
	}
	show.RunE = func(c *cobra.Command, a []string) error {
		i, err := app.Diagnosing{App: e.app}.Incident(c.Context(), a[0])
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(i)
		}
		return printIncident(e, i)
	}
	c.AddCommand(show)
	return c
}

// lasted is how long an incident took, for people.
func lasted(i incident.Incident) string {
	d := max(time.Second, i.To.Sub(i.From).Round(time.Second)).String()
	switch {
	case i.Open:
		return "open " + d
	case i.Cut:
		return "> " + d
	}
	return d
}

func printIncident(e *env, i incident.Incident) error {
	p := func(format string, args ...any) { fmt.Fprintf(e.Out, format+"\n", args...) }
	p("%s on %s (%s)", i.Title, i.Target, i.Severity)
	end := "to " + i.To.Local().Format(time.DateTime)
	switch {
	case i.Open:
		end = "open"
	case i.Cut:
		end = "watched until " + i.To.Local().Format(time.DateTime) + ", its end was not observed"
	}
	p("%s %s (%s)", i.From.Local().Format(time.DateTime), end, lasted(i))
	for k, c := range i.Conditions {
		if k == 0 {
			p("\nConditions")
		}
		p("  %s  %s", c.From.Local().Format(time.TimeOnly), c.Text)
	}
	for k, f := range i.Findings {
		if k == 0 {
			p("\nFindings")
		}
		fresh := ""
		if f.New {
			fresh = ", new"
		}
		p("  %-8s  %s (%s%s)", f.Severity, f.Title, f.Diagnosis, fresh)
	}
	if len(i.Worst) > 0 {
		p("\nWorst second: dyno watch %s --at '%s'", i.Target, i.WorstSecond().Local().Format(time.DateTime))
	}
	if id := cmp.Or(i.Diagnosis, firstDiagnosis(i)); id != "" {
		p("Diagnosis:    dyno report %s", id)
	}
	return nil
}

// firstDiagnosis is the diagnosis of the worst finding.
func firstDiagnosis(i incident.Incident) string {
	if len(i.Findings) == 0 {
		return ""
	}
	return i.Findings[0].Diagnosis
}
