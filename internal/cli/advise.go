package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dyno/internal/advise"
	"dyno/internal/app"
	"dyno/internal/capture"
	"dyno/internal/finding"
	"dyno/internal/target"
)

func (e *env) advise() *cobra.Command {
	var from, save string
	var why, changes, prove bool
	var try app.TryOptions
	o := capture.Options{}
	var kinds []string
	for _, k := range advise.Kinds() {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	c := &cobra.Command{
		Use:   "advise KIND TARGET",
		Short: "one kind of advice in depth: " + strings.Join(kinds, ", "),
		Long: `Looks at the server as diagnose does and tells everything that the rules of one kind have to say, also facts that nothing
suffers from yet: those are marked info. KIND is ` + strings.Join(kinds, ", ") + ` or all. Reads only; what it finds can be
carried out with apply. With --from the window comes from a snapshot that diagnose --save wrote.`,
		Example: "  dyno advise index shop\n  dyno advise config --from shop.json --changes",
		Args:    args(1, 2),
	}
	f := c.Flags()
	f.DurationVar(&o.Window, "window", app.DefaultWindow, "how long to look, 3s to 10m")
	f.StringVar(&from, "from", "", "judge this snapshot instead of a server (- for standard input)")
	f.StringVar(&save, "save", "", "write the snapshot to this file")
	f.BoolVar(&why, "why", false, "show the reasoning")
	f.BoolVar(&changes, "changes", false, "print the statements and lines for my.cnf only")
	f.BoolVar(&prove, "prove", false, "try each index on a private server of the same kind, with rows and statements of the target, before it is told")
	f.IntVar(&try.Rows, "prove-rows", 0, "with --prove: most rows of a table that are copied (200000)")
	f.IntVar(&try.Pairs, "prove-pairs", 0, "with --prove: pairs of trials (6)")
	f.StringArrayVar(&try.ServerDirs, "server-dir", nil, "with --prove: also look for server builds here; may be repeated")
	f.BoolVar(&o.Redact, "redact", false, "keep no statement with its literals")
	e.loginFlags(c)
	e.explainFlag(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		ask := []advise.Kind{advise.Kind(a[0])}
		if a[0] == "all" {
			ask = advise.Kinds()
		}
		switch {
		case !slices.Contains(kinds, a[0]) && a[0] != "all":
			return usagef("unknown kind of advice %q: it is %s or all", a[0], strings.Join(kinds, ", "))
		case (from == "") == (len(a) == 1):
			return usagef("say what to judge: either a TARGET or --from FILE; usage: %s", c.UseLine())
		case o.Window < capture.MinWindow || o.Window > 10*time.Minute:
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		case from != "" && save != "":
			return usagef("--save writes what a look at a TARGET saw; with --from there is nothing new to save")
		case prove && from != "":
			return usagef("--prove copies rows of the TARGET: with --from there is none")
		case prove && a[0] != "all" && a[0] != string(advise.Index) && a[0] != string(advise.Schema):
			return usagef("--prove tries indexes, which advice of the kinds %s and %s asks for: there is none of kind %s", advise.Index, advise.Schema, a[0])
		case !prove && (try.Rows != 0 || try.Pairs != 0):
			return usagef("--prove-rows and --prove-pairs belong to --prove")
		case try.Pairs != 0 && (try.Pairs < 3 || try.Pairs > 100) || try.Rows < 0:
			return usagef("--prove-pairs takes 3 to 100, --prove-rows a number from 1")
		}
		then := func(context.Context, *target.Target, *app.Diagnosis) error { return nil }
		var notTried error
		if prove {
			then = func(ctx context.Context, t *target.Target, d *app.Diagnosis) error {
				try.Progress = e.progress()
				notTried = e.app.Try(ctx, t, d, try)
				return ctx.Err() // else the findings are told all the same
			}
		}
		d, err := e.judged(c, a[1:], from, save, o, then, ask...)
		if err != nil {
			return err
		}
		switch {
		case e.json():
			err = list(e, plain(d.Findings, why), func(finding.Finding) string { return "" }, "")
		case changes:
			_, err = fmt.Fprint(e.Out, app.Changes(d.Findings))
		default:
			err = e.printDiagnosis(d, why)
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
