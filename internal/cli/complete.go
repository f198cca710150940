package cli

import (
	"context"
	"strings"

	"github.com/dyno-perf/dyno/internal/app"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/sandbox"
)

// addCompletion has the shell offer names where arguments and flags of a command, and of those below it, take some.
// What cannot be listed is not offered: completion has no place for an error.
func addCompletion(e *env, c *cobra.Command) {
	for _, sub := range c.Commands() {
		addCompletion(e, sub)
	}
	names := func(what string) func(context.Context) []string {
		switch what {
		case "TARGET", "target":
			return func(ctx context.Context) []string {
				return append(e.targetNames(ctx), e.sandboxNames(ctx, "sandbox:")...)
			}
		case "server", "SERVER":
			return e.serverNames
		case "FAULT":
			return faultNames
		case "NAME":
			switch c.Parent().Name() {
			case "target":
				return e.targetNames
			case "sandbox":
				return func(ctx context.Context) []string { return e.sandboxNames(ctx, "") }
			}
		}
		return nil
	}
	for _, flag := range []string{"target", "server"} {
		if offer := names(flag); c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) (
				[]string, cobra.ShellCompDirective,
			) {
				return offer(c.Context()), cobra.ShellCompDirectiveNoFileComp
			}) // the flag is there, and nobody else registers one
		}
	}
	words := strings.Fields(c.Use)[1:]
	if len(words) == 0 || c.Name() == "add" { // a name that is to be is the user's
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, have []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(have) >= len(words) && !strings.Contains(words[len(words)-1], "...") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if offer := names(strings.Trim(words[min(len(have), len(words)-1)], "[].")); offer != nil {
			return offer(c.Context()), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

func (e *env) targetNames(ctx context.Context) (names []string) {
	l, err := e.app.Ledger(ctx)
	if err != nil {
		return nil
	}
	all, _ := l.Targets(ctx)
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names
}

func (e *env) sandboxNames(ctx context.Context, prefix string) (names []string) {
	y, err := sandbox.Open(e.app.Home, app.Makers()...)
	if err != nil {
		return nil
	}
	all, _ := y.List(ctx)
	for _, s := range all {
		names = append(names, prefix+s.Name)
	}
	return names
}

func (e *env) serverNames(ctx context.Context) (names []string) {
	y, err := sandbox.Open(e.app.Home, app.Makers()...)
	if err != nil {
		return nil
	}
	all, _ := y.Servers(ctx)
	for _, s := range all {
		names = append(names, s.Spec())
	}
	return names
}

func faultNames(context.Context) (names []string) {
	for _, f := range app.Faults() {
		names = append(names, f.Name)
	}
	return names
}
