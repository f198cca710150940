package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/report"
)

func newAdviseCommand(e *env) *cobra.Command {
	var from, save string
	var why, changes, prove bool
	var try family.Try
	o := family.Look{}
	var kinds []string
	for _, k := range advise.Kinds() {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	c := &cobra.Command{
		Use:   "advise KIND TARGET",
		Short: "one kind of advice in depth: " + strings.Join(kinds, ", "),
		Long: `Observes the server as diagnose does and reports everything that the rules of one kind find, including facts that cause no
symptom yet: those are marked fact. KIND is ` + strings.Join(kinds, ", ") + ` or all; config includes load and replicas,
host includes accounts and encryption. Reads only; dyno apply carries out what it finds. With --from the window comes from a snapshot that diagnose --save wrote.`,
		Example: "  dyno advise index shop\n  dyno advise config --from shop.json --changes",
		Args:    args(1, 2),
	}
	f := c.Flags()
	f.DurationVar(&o.Window, "window", app.DefaultWindow, "how long to observe, 3s to 10m")
	f.StringVar(&from, "from", "", "diagnose this snapshot instead of a server (- for standard input)")
	f.StringVar(&save, "save", "", "write the snapshot to this file")
	f.BoolVar(&why, "why", false, "show the reasoning")
	f.BoolVar(&changes, "changes", false, "print only the statements and the lines for my.cnf")
	f.BoolVar(&prove, "prove", false, "try each index on a private server of the same kind, with rows and statements "+
		"of the target, before reporting it")
	f.IntVar(&try.Rows, "prove-rows", 0, "with --prove: maximum rows to copy per table (200000)")
	f.IntVar(&try.Pairs, "prove-pairs", 0, "with --prove: pairs of trials (6)")
	f.StringArrayVar(&try.ServerDirs, "server-dir", nil, "with --prove: also look for server builds here; may be "+
		"repeated")
	f.BoolVar(&o.Redact, "redact", false, "store no literals of statements")
	e.loginFlags(c)
	e.explainFlag(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		ask := []advise.Kind{advise.Kind(a[0])}
		if a[0] == "all" {
			ask = advise.Kinds()
		}
		switch {
		case !slices.Contains(kinds, a[0]) && a[0] != "all":
			return usagef("unknown kind of advice %q: must be %s or all", a[0], strings.Join(kinds, ", "))
		case (from == "") == (len(a) == 1):
			return usagef("say what to diagnose: either a TARGET or --from FILE; usage: %s", c.UseLine())
		case o.Window < family.MinWindow || o.Window > 10*time.Minute:
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		case from != "" && save != "":
			return usagef("--save writes the snapshot of a TARGET; with --from there is nothing new to save")
		case prove && from != "":
			return usagef("--prove copies rows of a TARGET; with --from there is none")
		case prove && a[0] != "all" && a[0] != string(advise.Index) && a[0] != string(advise.Schema):
			return usagef("--prove tries indexes, which only advice of kind %s or %s suggests, not of kind %s",
				advise.Index, advise.Schema, a[0])
		case !prove && (try.Rows != 0 || try.Pairs != 0):
			return usagef("--prove-rows and --prove-pairs need --prove")
		case try.Pairs != 0 && (try.Pairs < 3 || try.Pairs > 100) || try.Rows < 0:
			return usagef("--prove-pairs takes 3 to 100, --prove-rows a number from 1")
		}
		then := func(context.Context, family.Server, *app.Diagnosis) error { return nil }
		var notTried error
		if prove {
			then = func(ctx context.Context, t family.Server, d *app.Diagnosis) error {
				try.Progress = e.progress()
				notTried = app.Diagnosing{App: e.app}.TryIndexes(ctx, t, d, try)
				return ctx.Err() // else the findings are told all the same
			}
		}
		d, err := judged(e, c, a[1:], from, save, o, then, ask...)
		if err != nil {
			return err
		}
		switch {
		case e.json():
			err = list(e, plain(d.Findings, why), func(finding.Finding) string { return "" }, "")
		case changes:
			_, err = fmt.Fprint(e.Out, report.Changes(d.Findings))
		default:
			err = printDiagnosis(e, d, why)
		}
		return errors.Join(err, notTried)
	}
	return c
}

// plain leaves the reasoning out of findings unless it is asked for.
func plain(findings []finding.Finding, why bool) []finding.Finding {
	out := slices.Clone(findings)
	for i := range out {
		if !why {
			out[i].Why = nil
		}
	}
	return out
}
