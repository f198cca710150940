// Package cli is the command line, with one file per verb. It reads flags, calls package app and
// prints the results; no other package prints.
//
// Rules for all verbs: results go to stdout, progress and remarks to stderr. JSON output is one
// object per line. Progress is drawn only on a terminal. An error is one paragraph that says what
// to do, and the exit code gives its kind.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	nearest "github.com/dyno-perf/dyno/internal/suggest"
)

// Streams is where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// env is what every verb gets: the app, the console, and the flags that all verbs share.
type env struct {
	console
	app   *app.App
	args  []string // as typed, without the program's name
	login app.Login
}

// Run executes one command line and returns the exit code. Nothing is left running when it returns, except the servers
// of sandboxes that were meant to stay.
func Run(ctx context.Context, args []string, s Streams, environ func(string) string, version string) int {
	e := &env{console: console{Streams: s, environ: environ}, args: args}
	end := e.legibly(func() string { return e.output })
	home, err := app.DefaultHome(environ)
	if err != nil {
		return e.fail(err)
	}
	e.app = &app.App{Home: home, Version: version, Environ: environ, AskPassword: e.askPassword}
	defer app.ShareWork(home)()
	root := newRootCommand(e)
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		// whatever broke, it broke because of the stop
		err = fmt.Errorf("stopped: %w", err)
	}
	err = errors.Join(err, e.app.Close(), end())
	return e.fail(err)
}

// outputsOf is the annotation of verbs that take more forms of output than text and json.
const outputsOf = "outputs"

func newRootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "dyno",
		Short: "Watch a database server, find what holds it back, fix that, prove it; or put load on one.",
		Long: `Dyno watches a MySQL-family server every second, names what holds it back, changes that one thing
safely, and proves the gain; it can also put load on a server. Start with "dyno demo": it does all of this on a private server.

TARGET is a name of the inventory (dyno target add), sandbox:NAME, or a URL:
  mysql://user@host:3306/db?tls=verify-full   unix:///path.sock?user=root
Passwords come from $DYNO_PASSWORD, ~/.my.cnf, --defaults-file or --ask-pass, never from arguments.

Reading never changes a server. apply and undo only show what they would do unless you pass --execute.
load and load replay --writes write to their target: never point them at production.

Exit codes: 0 done, 1 failed, 2 usage, 3 findings at or above --fail-on, 5 verdict "worse" under --fail-on
worse, 6 verdict unstable or invalid, 7 part of the input was skipped.`,
		Version:       e.app.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		PersistentPreRunE: func(c *cobra.Command, a []string) error {
			if at := c.Flags().Lookup("target"); at != nil {
				a = append(slices.Clone(a), at.Value.String())
			}
			if slices.ContainsFunc(a, holdsPassword) {
				return usagef("the URL holds a password, and any user of this machine can read arguments; set " +
					"DYNO_PASSWORD, use a defaults file or --ask-pass")
			}
			forms := strings.Fields(cmp.Or(c.Annotations[outputsOf], "text json"))
			if !slices.Contains(forms, e.output) {
				return usagef("--output %s: must be %s", e.output, strings.Join(forms, " or "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown verb %q: %s`dyno --help` lists them", args[0], near(c, args[0]))
			}
			return c.Help()
		},
	}
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&e.output, "output", "text", "text or json (one object a line)")
	root.PersistentFlags().BoolVar(&e.quiet, "quiet", false, "results only, no progress and no remarks")
	steps(e, root, "Observe", newWatchCommand, newServeCommand, newIncidentsCommand, newLocksCommand, newCostCommand,
		newAnnotateCommand)
	steps(e, root, "Find", newDiagnoseCommand, newAdviseCommand, newDigestCommand)
	steps(e, root, "Fix", newApplyCommand, newUndoCommand)
	steps(e, root, "Prove", newDemoCommand, newProofCommand, newCompareCommand, newRecipeCommand, newReportCommand)
	steps(e, root, "Load", newLoadCommand, newSandboxCommand)
	steps(e, root, "Manage", newTargetCommand, newUserCommand, newStoreCommand, newVersionCommand, newManCommand)
	root.SetHelpCommandGroupID("manage")
	root.SetCompletionCommandGroupID("manage")
	addCompletion(e, root)
	return root
}

// steps adds the verbs of one step of the loop, which the help lists under its title.
func steps(e *env, root *cobra.Command, title string, verbs ...func(*env) *cobra.Command) {
	id := strings.ToLower(title)
	root.AddGroup(&cobra.Group{ID: id, Title: title + ":"})
	for _, verb := range verbs {
		c := verb(e)
		c.GroupID = id
		root.AddCommand(c)
	}
}

func newVersionCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version of this program", Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.Out, "dyno version %s\n", e.app.Version)
			return err
		},
	}
}

// flagError words what is wrong with a flag, and names the one that was meant.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(x *pflag.Flag) { names = append(names, x.Name) })
		return usagef("unknown flag --%s%s; see `%s --help`", unknown.GetSpecifiedName(),
			meant(unknown.GetSpecifiedName(), names, "--"), c.CommandPath())
	}
	return usagef("%v; see `%s --help`", err, c.CommandPath())
}

// days is a time that may be given in days, "15d" or "1d12h", besides what time.ParseDuration reads.
type days time.Duration

func daysVar(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, help string) {
	*p = value
	f.Var((*days)(p), name, help)
	x := f.Lookup(name)
	switch {
	case value == 0: // the help names the default itself
		x.DefValue = ""
	case value%(24*time.Hour) == 0:
		x.DefValue = strconv.Itoa(int(value.Hours()/24)) + "d"
	}
}

func (d *days) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value as a duration does.
func (d *days) Type() string { return "duration" }

func (d *days) Set(s string) error {
	whole, rest, has := strings.Cut(s, "d")
	if !has {
		whole, rest = "0", s
	}
	n, err := strconv.ParseFloat(whole, 64)
	v := time.Duration(n * float64(24*time.Hour))
	if err == nil && rest != "" {
		var more time.Duration
		more, err = time.ParseDuration(rest)
		v += more
	}
	if err != nil || s == "" || n < 0 || n > 36_500 {
		return fmt.Errorf("%q is not a duration: write 15d, 36h or 90m", s)
	}
	*d = days(v)
	return nil
}

// loginFlags adds the flags that say how to log in to a TARGET.
func (e *env) loginFlags(c *cobra.Command) {
	c.Flags().StringVar(&e.login.DefaultsFile, "defaults-file", "", "read user, password and TLS from this my.cnf "+
		"instead of ~/.my.cnf")
	c.Flags().BoolVar(&e.login.NoDefaults, "no-defaults", false, "read no my.cnf at all")
	c.Flags().BoolVarP(&e.login.AskPass, "ask-pass", "p", false, "prompt for the password")
}

// unlessUnknown returns err, which says that nothing is stored of a target, or that there is no such target.
func (e *env) unlessUnknown(ctx context.Context, target string, err error) error {
	if _, unknown := e.app.Locate(ctx, target, &app.Login{}); unknown != nil {
		return unknown
	}
	return err
}

// explainFlag adds the flag for commands that ask for plans.
func (e *env) explainFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&e.login.ExplainSchemas, "explain-schemas", nil,
		"ask for plans in these schemas even if the account may execute stored routines there: you trust everyone "+
			"who can create routines or views in them")
}

// holdsPassword tells whether an argument is a URL with a password in it.
func holdsPassword(arg string) bool {
	s, err := endpoint.ParseURL(arg)
	return err == nil && s.PasswordInURL
}

// near asks whether the sub-command was meant whose name is most like what was typed; it is empty when none is.
func near(c *cobra.Command, typed string) string {
	var names []string
	for _, x := range c.Commands() {
		if x.IsAvailableCommand() {
			names = append(names, x.Name())
		}
	}
	if name := nearest.Name(typed, names, 3); name != "" {
		return "did you mean " + name + "? "
	}
	return ""
}

// group is a command that only has sub-commands.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s has no %q: %ssee `%[1]s --help`", c.CommandPath(), args[0], near(c, args[0]))
			}
			return c.Help()
		},
	}
	c.AddCommand(subs...)
	return c
}

// args makes a wrong number of arguments a usage error that shows how to call the verb.
func args(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		if len(a) < least {
			return usagef("%s: an argument is missing; usage: %s", verb(c), c.UseLine())
		}
		if len(a) > most {
			return usagef("%s: %q is one argument too many; usage: %s", verb(c), a[most], c.UseLine())
		}
		return nil
	}
}

// verb names a command in an error, which begins with the program's name already.
func verb(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "dyno ") }

func (e *env) askPassword(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errors.New("ask for the password: there is no terminal to ask on; set DYNO_PASSWORD or use a " +
			"defaults file")
	}
	defer tty.Close()
	fmt.Fprint(&legible{to: tty, form: func() string { return "" }}, prompt)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	return string(b), err
}
