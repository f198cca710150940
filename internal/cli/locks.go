package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/store/history"
)

func newLocksCommand(e *env) *cobra.Command {
	var since, until string
	var limit int
	c := &cobra.Command{
		Use:   "locks TARGET [DEADLOCK]",
		Short: "past deadlocks and lock waits: which queries blocked which, and how often",
		Long: `Lists what dyno serve stored: every deadlock that the server showed, lock waits of 1 s and longer (dyno serve --lock-wait)
with the session at their root, and which query classes blocked which, and how often. With the id of a deadlock it
shows that one: statements, locks held and waited for, and the victim. A server may keep only the latest deadlock; the
list then says how many were missed, and docs/observe.md how to keep all.`,
		Example: "  dyno locks shop\n  dyno locks shop --since 7d --output json\n" +
			"  dyno locks shop 5f0a1c7be2d94e630b18",
		Args: args(1, 2),
	}
	f := c.Flags()
	f.StringVar(&since, "since", "24h", "start time: "+momentForms)
	f.StringVar(&until, "until", "", "end time, in the same form (default now)")
	f.IntVar(&limit, "limit", 20, "maximum number of deadlocks, waits and pairs that are listed")
	c.RunE = func(c *cobra.Command, a []string) error {
		now := time.Now()
		from, err := parseMoment(since, now)
		if err != nil {
			return usagef("--since %s: %v", since, err)
		}
		to := now
		if until != "" {
			if to, err = parseMoment(until, now); err != nil {
				return usagef("--until %s: %v", until, err)
			}
		}
		if limit < 1 || to.Before(from) {
			return usagef("--limit takes a number from 1 on, and --until a time after --since")
		}
		if len(a) == 2 {
			d, err := app.Stores{App: e.app}.Deadlock(c.Context(), a[0], a[1])
			switch {
			case errors.Is(err, history.ErrNotFound):
				return fmt.Errorf("%w; `dyno locks %s` lists the ids", err, a[0])
			case err != nil:
				return err
			case e.json():
				return e.writeJSON(d)
			}
			return printDeadlock(e.Out, d)
		}
		all, err := app.Stores{App: e.app}.Locks(c.Context(), a[0], from, to, limit)
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(all)
		}
		if all.DeadlockCount+all.WaitCount == 0 && all.MissedCount == 0 {
			if err := e.unlessUnknown(c.Context(), a[0], nil); err != nil {
				return err
			}
			e.remark("No deadlocks and no lock waits of %s are stored since %s. `dyno serve` stores them.", a[0],
				from.Local().Format(time.DateTime))
			return nil
		}
		return printLocks(e.Out, all, limit)
	}
	return c
}

// printLocks writes the three lists.
func printLocks(w io.Writer, all history.Locks, limit int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d deadlocks, %d lock waits\n", all.DeadlockCount, all.WaitCount)
	if all.MissedCount > 0 {
		fmt.Fprintf(&b, "%d more deadlocks were counted and could not be read: %s\n", all.MissedCount,
			all.Missed[0].Why)
	}
	if all.Truncated {
		b.WriteString("With their statements the lists would be too long: the latest are shown. Fix: choose a " +
			"shorter time range.\n")
	}
	if len(all.Pairs) > 0 {
		fmt.Fprintf(&b, "\n%9s %6s %9s  %s\n", "DEADLOCKS", "WAITS", "WAITED", "BLOCKING → BLOCKED")
		for _, p := range all.Pairs[:min(len(all.Pairs), limit)] {
			fmt.Fprintf(&b, "%9d %6d %8.1fs  %s → %s\n", p.Deadlocks, p.Waits, p.Seconds,
				className(p.Blocking, p.BlockingFingerprint), className(p.Blocked, p.BlockedFingerprint))
		}
	}
	if len(all.Deadlocks) > 0 {
		fmt.Fprintf(&b, "\n%-19s  %-20s %-7s %s\n", "DEADLOCK AT", "ID", "VICTIM", "ON")
		for _, d := range all.Deadlocks {
			victim, on := "?", ""
			if p, ok := d.Victim(); ok {
				victim = fmt.Sprint(p.Session)
			}
			for _, p := range d.Parties {
				for _, l := range p.Waits {
					on = cmp.Or(on, lockName(l))
				}
			}
			fmt.Fprintf(&b, "%-19s  %-20s %-7s %s\n", d.At.Local().Format(time.DateTime), d.ID, victim, on)
		}
	}
	if len(all.Waits) > 0 {
		fmt.Fprintf(&b, "\n%-19s  %8s %8s %5s  %s\n", "WAIT SINCE", "LASTED", "SESSIONS", "DEPTH", "ROOT")
		for _, x := range all.Waits {
			fmt.Fprintf(&b, "%-19s  %7.1fs %8d %5d  %s\n", x.Begin.Local().Format(time.DateTime),
				x.End.Sub(x.Begin).Seconds(), x.Total, x.Depth, rootName(x))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printDeadlock writes one deadlock whole.
func printDeadlock(w io.Writer, d lock.Deadlock) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Deadlock %s at %s\n", d.ID, d.At.Local().Format(time.DateTime))
	if d.Why != "" {
		fmt.Fprintf(&b, "The victim is unknown: %s.\n", d.Why)
	}
	for _, p := range d.Parties {
		fmt.Fprintf(&b, "\nSession %d %s@%s, transaction %s", p.Session, p.User, p.Host, p.Transaction)
		if s, ok := p.Seconds.Get(); ok {
			fmt.Fprintf(&b, ", open for %.0f s", s)
		}
		if p.Victim {
			b.WriteString(": rolled back")
		}
		fmt.Fprintf(&b, "\n  %s\n", strings.Join(strings.Fields(p.SQL), " "))
		for _, x := range []struct {
			what  string
			locks []lock.Lock
		}{{"holds", p.Holds}, {"waits for", p.Waits}} {
			for _, l := range x.locks {
				fmt.Fprintf(&b, "  %-9s %s, %s", x.what, lockName(l), l.Mode)
				if len(l.Record) > 0 {
					fmt.Fprintf(&b, ", record %s", strings.Join(l.Record, " "))
				}
				b.WriteString("\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lockName(l lock.Lock) string {
	if l.Index != "" {
		return l.Object + " (" + l.Index + ")"
	}
	return cmp.Or(l.Object, l.Kind)
}

func className(id, fingerprint string) string {
	if fingerprint != "" {
		r := []rune(fingerprint)
		return string(r[:min(len(r), 60)])
	}
	return cmp.Or(id, "unknown")
}

// rootName describes who was at the top of a wait.
func rootName(x lock.Wait) string {
	id, ok := x.Root.Session.Get()
	if !ok {
		return "unknown: " + x.Root.Why
	}
	name := fmt.Sprintf("session %d", id)
	if x.Root.User != "" {
		name += " " + x.Root.User
	}
	sql := className("", cmp.Or(x.Root.Fingerprint, strings.Join(strings.Fields(x.Root.SQL), " ")))
	if x.Root.Idle {
		name += ", idle"
		if !x.Root.Since.IsZero() {
			name += fmt.Sprintf(" since %s", x.Root.Since.Local().Format(time.TimeOnly))
		}
		return name + ", last ran " + sql
	}
	return name + ": " + sql
}
