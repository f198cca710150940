package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/unit"
)

func newApplyCommand(e *env) *cobra.Command {
	var execute, prove bool
	var most time.Duration
	var o change.Options
	c := &cobra.Command{
		Use:   "apply TARGET FINDING",
		Short: "apply the change that a finding suggests; a dry run without --execute",
		Long: `Shows what a finding's change would do to the server as it is now: the statements, how long they take, how much space,
and what blocks them. With --execute it applies the change: a table is altered online, with a short lock wait and a bounded
number of retries; a variable or kernel setting is set until the next restart. The undo is recorded in the journal before
the first statement is sent. FINDING is the id that diagnose and advise print. With --prove it first makes sure that traffic
before the change is stored, which can take ten minutes. After the change it waits until live traffic shows whether it
helped, and reports it as "dyno proof" does; Ctrl-C ends that wait and leaves the change.`,
		Example: "  dyno apply shop missing-index-f7f1503c\n  dyno apply shop missing-index-f7f1503c --execute --prove",
		Args:    args(2, 2),
	}
	c.Flags().BoolVar(&execute, "execute", false, "execute the statements")
	c.Flags().BoolVar(&o.Blocking, "blocking", false, "block the table's writers if the server cannot change it online")
	c.Flags().BoolVar(&prove, "prove", false, "with --execute: wait until live traffic shows the effect, and report "+
		"it; records a minute before the change if nothing watches the target")
	c.Flags().DurationVar(&most, "prove-for", app.DefaultWait, "how long --prove waits at most, 1m to 12h; "+
		"at least 9m for a target that is watched")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		switch {
		case prove && !execute:
			return usagef("--prove measures a change that is made: it needs --execute")
		case most < time.Minute || most > app.MostOfSide:
			return usagef("--prove-for %s: it takes 1m to 12h", most)
		}
		t, err := e.app.Open(c.Context(), a[0], e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		in, err := app.Actions{App: e.app}.PreviewChange(c.Context(), t, a[1], o)
		if err != nil {
			return err
		}
		if e.json() && !execute {
			return e.writeJSON(struct {
				Finding string         `json:"finding"`
				Execute bool           `json:"execute"`
				Preview change.Preview `json:"preview"`
			}{in.Finding.ID, false, in.Preview})
		}
		if !e.json() {
			printPreview(e, in.Preview)
		}
		if !execute {
			notDone(e, in.Preview.OK(), "apply "+a[0]+" "+a[1], o)
			return nil
		}
		if prove && in.Preview.OK() {
			if err := (app.Actions{App: e.app}).PrepareProof(c.Context(), t, in, most, e.progress()); err != nil {
				if errors.Is(err, app.ErrNoProof) {
					return fmt.Errorf("nothing was changed: %w; the change itself needs no --prove", err)
				}
				return fmt.Errorf("nothing was changed: measure the time before: %w", err)
			}
		}
		entry, err := app.Actions{App: e.app}.Apply(c.Context(), t, in, e.progress(),
			func(s string) { e.remark("%s", s) })
		if prove && err == nil {
			return proveApplied(c.Context(), e, t, entry, most)
		}
		return acted(e, entry, err, "Done", fmt.Sprintf("To undo: dyno undo %s --execute\nTo measure the effect, once "+
			"traffic has run: dyno proof %[1]s", entry.ID))
	}
	return c
}

// proveApplied waits for the effect of a change that was made.
func proveApplied(
	ctx context.Context, e *env, t family.Server, entry journal.Entry, most time.Duration,
) error {
	a := app.Actions{App: e.app}
	if !e.json() {
		fmt.Fprintf(e.Out, "Done: %s\nTo undo: dyno undo %[1]s --execute\n", entry.ID)
		e.remark("Waiting up to %s for live traffic to show the effect. Ctrl-C ends the wait and leaves the change.",
			unit.Duration(most))
	}
	p, err := a.AwaitProof(ctx, t, entry, app.Proving{Look: family.Look{Progress: e.progress()}}, most)
	if err != nil {
		e.remark("The change stays as it is. To measure its effect later: dyno proof %s", entry.ID)
		if e.json() {
			return errors.Join(e.writeJSON(entry), err)
		}
		return err
	}
	doc, err := a.KeepLive(ctx, t, entry, p)
	if err != nil {
		return err
	}
	if e.json() {
		return e.writeJSON(struct {
			journal.Entry
			Live proof.Live `json:"live"`
		}{entry, p})
	}
	fmt.Fprintln(e.Out)
	return report.Text(raw(e.Out), doc, report.Options{Width: e.width(), Color: e.color()})
}

// notDone ends a dry run: with the command that does what was shown, unless something stands against it.
func notDone(e *env, can bool, command string, o change.Options) {
	how := ""
	if can {
		how = " To execute: dyno " + command
		if o.Blocking {
			how += " --blocking"
		}
		how += " --execute"
	}
	fmt.Fprintf(e.Out, "\nNothing was changed.%s\n", how)
}

func printPreview(e *env, p change.Preview) {
	for _, s := range p.Text() {
		fmt.Fprintln(e.Out, oneLine(s))
	}
}

func newUndoCommand(e *env) *cobra.Command {
	var execute, ls bool
	var o change.Options
	c := &cobra.Command{
		Use:   "undo ACTION | --list [TARGET]",
		Short: "undo an action; a dry run without --execute",
		Long: `Shows the undo of an action, and with --execute executes it, on the server where the action was applied and on no other.
With --list it shows the journal, newest action first, without connecting to a server. ACTION is the id
that apply prints.`,
		Example: "  dyno undo --list shop\n  dyno undo a-1kq3f9\n  dyno undo a-1kq3f9 --execute",
		Args:    args(0, 1),
	}
	c.Flags().BoolVar(&execute, "execute", false, "execute the statements")
	c.Flags().BoolVar(&ls, "list", false, "list the actions on TARGET or on all servers, with their state")
	c.Flags().BoolVar(&o.Blocking, "blocking", false, "block the table's writers if the server cannot undo the "+
		"change online")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		switch {
		case ls && execute:
			return usagef("--list only lists actions; it undoes nothing")
		case ls:
			return listActions(c.Context(), e, strings.Join(a, ""))
		case len(a) == 0:
			return usagef("undo: the action is missing; `dyno undo --list` shows them; usage: %s", c.UseLine())
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
		p, err := app.Actions{App: e.app}.PreviewUndo(c.Context(), t, entry, o)
		if err != nil {
			return err
		}
		if e.json() && !execute {
			return e.writeJSON(struct {
				Action  journal.Entry      `json:"action"`
				Execute bool               `json:"execute"`
				Preview change.UndoPreview `json:"preview"`
			}{p.Entry, false, p})
		}
		if !e.json() {
			printUndo(e, p)
		}
		if !execute {
			notDone(e, len(p.Blockers) == 0, "undo "+entry.ID, o)
			return nil
		}
		o.Agreed = p.SQL
		entry, err = app.Actions{App: e.app}.Undo(c.Context(), t, a[0], o, e.progress(),
			func(s string) { e.remark("%s", s) })
		return acted(e, entry, err, "Undone", "")
	}
	return c
}

// localTime heads a column of times of this machine's zone.
func localTime() string { return time.Now().Format("TIME (MST)") }

// listActions lists the journal of one target, or of all.
func listActions(ctx context.Context, e *env, target string) error {
	all, err := app.Actions{App: e.app}.Journal(ctx, target)
	if err != nil {
		return err
	}
	err = listed(e, fmt.Sprintf("%-14s %-19s %-16s %-8s %s", "ID", localTime(), "TARGET", "STATE", "STATEMENT"), all,
		func(x journal.Entry) string {
			return fmt.Sprintf("%-14s %s %-16s %-8s %s", x.ID, x.Planned.Local().Format(time.DateTime), x.Target,
				x.State,
				strings.Join(strings.Fields(x.Action.SQL), " "))
		}, "No actions on "+cmp.Or(target, "any server")+" yet.")
	if i := slices.IndexFunc(all, func(x journal.Entry) bool { return x.State == journal.Running }); i >= 0 {
		e.remark("running: sent, no end recorded: it is still at work, or its dyno was ended. `dyno undo %s` asks "+
			"the server.", all[i].ID)
	}
	return err
}

func printUndo(e *env, p change.UndoPreview) {
	fmt.Fprintf(e.Out, "Undo on %s:\n", p.Entry.Target)
	if p.SQL != "" {
		fmt.Fprintf(e.Out, "\n  %s\n\n", oneLine(p.SQL))
	}
	for _, n := range p.Warnings {
		fmt.Fprintln(e.Out, "Note: "+oneLine(n))
	}
	for _, b := range p.Blockers {
		fmt.Fprintln(e.Out, "Blocked: "+oneLine(b))
	}
}

// acted prints what an action came to.
func acted(e *env, entry journal.Entry, err error, word, next string) error {
	if e.json() {
		if entry.ID == "" {
			return err
		}
		return errors.Join(e.writeJSON(entry), err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "%s: %s\n", word, entry.ID)
	if next != "" {
		fmt.Fprintln(e.Out, next)
	}
	return nil
}
