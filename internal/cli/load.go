package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// loadStep is what can be done with a workload.
type loadStep struct {
	name, short string
	do          func(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) error
}

// loadSteps lists them in the order of their use.
func loadSteps() []loadStep {
	return []loadStep{
		{"prepare", "create the tables", loadPrepare},
		{"warmup", "read the tables and their indexes once, into the server's memory", loadWarmup},
		{"run", "run the workload and report its figures", loadRun},
		{"check", "check that the tables are consistent", loadCheck},
		{"cleanup", "drop the tables", loadCleanup},
	}
}

func newLoadCommand(e *env) *cobra.Command {
	var o loadFlags
	var steps []string
	for _, s := range loadSteps() {
		steps = append(steps, s.name)
	}
	c := &cobra.Command{
		Use:   "load WORKLOAD " + strings.Join(steps, "|") + "|help",
		Short: "generate load with sysbench's workloads, options and tables",
		Long: `Runs a workload and prints a line each second, then sysbench's summary and more. Options and their defaults are
sysbench's, except those listed under Differences in docs/load.md (--report-interval, --mysql-ssl); "_" and "-" mean the same. K, M and
G are powers of 1000 in counts, of 1024 in --size. The server is --target T, or sysbench's --mysql-host and so on.
Without --rate every session sends its next operation when the last one is done; with it operations are due whatever the server does,
and their wait is reported. Ctrl-C stops cleanly and prints the figures so far. "dyno load WORKLOAD help" lists the options of a workload.
Workloads:
` + workloadList(),
		Example: "  dyno load oltp_read_write prepare --target sandbox:mariadb --tables=4 --table-size=100000\n" +
			"  dyno load oltp_read_write run --target sandbox:mariadb --tables=4 --table-size=100000 --threads=8 " +
			"--time=60\n" +
			"  dyno load oltp_read_only run --target sandbox:mariadb --threads=1,2,4,8,16 --warmup-time=10\n" +
			"  dyno load oltp_read_write run --target sandbox:mariadb --threads=64 --rate=100..2000@60s --time=60",
		Args: func(c *cobra.Command, a []string) error {
			if len(a) == 1 && a[0] != "help" {
				return usagef("%s: say what to do with %s: %s", verb(c), a[0],
					strings.Join(append(steps, "help"), ", "))
			}
			return args(1, 2)(c, a)
		},
	}
	f := c.Flags()
	o.add(f)
	script, scriptErr := scriptOf(e)
	own := workloadFlags(f, script)
	e.loginFlags(c)
	c.SetFlagErrorFunc(loadFlagError)
	std := c.HelpFunc()
	c.SetHelpFunc(func(c *cobra.Command, a []string) {
		for _, x := range c.Flags().Args() {
			if w, err := findWorkload(x, script, scriptErr); err == nil {
				workloadHelp(e, e.Out, w)
				return
			}
		}
		std(c, a)
	})
	c.RunE = func(c *cobra.Command, a []string) error {
		if a[0] == "help" {
			return c.Help()
		}
		if a[0] == load.ExecName {
			return loadExec(e, c, a[1], &o)
		}
		w, err := findWorkload(a[0], script, scriptErr)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if a[1] == "help" {
			workloadHelp(e, e.Out, w)
			return nil
		}
		step, err := stepOf(c, a[1])
		if err != nil {
			return err
		}
		if o.command != "" {
			return usagef("--command is for %s; %s runs statements", load.ExecName, w.Name())
		}
		if len(o.scripts) > 0 && w.Name() != scriptName {
			return usagef("--script is for the workload script; %s has its own statements", w.Name())
		}
		if o.configFile != "" {
			if err := readConfigFile(o.configFile, f); err != nil {
				return err
			}
		}
		options := map[string]string{}
		for name, v := range own {
			if f.Changed(name) {
				options[name] = *v
			}
		}
		cfg, err := o.config(w, options)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if err := remarkIdle(e, f); err != nil {
			return err
		}
		text, err := o.text(f)
		if err != nil {
			return err
		}
		s, err := app.Runs{App: e.app}.Open(c.Context(), text, e.login)
		if err != nil {
			return err
		}
		defer s.Close()
		if cfg, err = o.fit(f, s, cfg); err != nil {
			return err
		}
		if o.size != "" {
			if cfg.Options, err = sized(c.Context(), e, s, o.data(cfg), o.size); err != nil {
				return err
			}
		}
		return step.do(e, c, s, cfg, &o)
	}
	c.AddCommand(newLoadReplayCommand(e))
	return c
}

// stepOf returns the step of that name. prewarm is sysbench's older word for warmup.
func stepOf(c *cobra.Command, name string) (loadStep, error) {
	names := []string{"help"}
	for _, s := range loadSteps() {
		if s.name == name || s.name == "warmup" && name == "prewarm" {
			return s, nil
		}
		names = append(names, s.name)
	}
	return loadStep{}, usagef("%s: unknown step %q, it is %s%s", verb(c), name, strings.Join(append(names[1:], "help"),
		", "), meant(name, names, ""))
}

// workloadFlags adds the options of all workloads, which their own help lists, and returns where their values go.
func workloadFlags(f *pflag.FlagSet, script workload.Workload) map[string]*string {
	known := map[string]bool{}
	f.VisitAll(func(x *pflag.Flag) { known[x.Name] = true })
	own := map[string]*string{}
	all := app.Workloads()
	if script != nil {
		all = append(all, script)
	}
	for _, w := range all {
		for _, x := range w.Options() {
			if own[x.Name] != nil || known[x.Name] {
				continue
			}
			v := new(string)
			own[x.Name] = v
			f.Var((*optionValue)(v), x.Name, x.Help)
			flag := f.Lookup(x.Name)
			flag.Hidden = true
			if x.Type == workload.Bool || x.Type == workload.Text && contains(x.Choices, "on") {
				flag.NoOptDefVal = "on"
			}
		}
	}
	return own
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func workloadList() string {
	var b strings.Builder
	faults := 0
	for _, w := range app.Workloads() {
		if app.Fault(w.Name()) {
			faults++
			continue
		}
		fmt.Fprintf(&b, "  %-24s %s\n", w.Name(), w.Title())
	}
	fmt.Fprintf(&b, "  %-24s your own SQL: --script FILE\n  %-24s your own command: --command 'LINE'\n  %-24s replay "+
		"the statements of a log: dyno load replay LOG\n", scriptName, load.ExecName, load.ReplayName)
	fmt.Fprintf(&b, "The loads of the %d faults that dyno demo --list names are workloads too.\n", faults)
	return b.String()
}

// scriptName is the workload made of --script.
const scriptName = "script"

// findWorkload returns the workload of that name.
func findWorkload(name string, script workload.Workload, scriptErr error) (workload.Workload, error) {
	if name == scriptName {
		if script == nil && scriptErr == nil {
			scriptErr = errors.New("say which: --script FILE, may be repeated; FILE@3 runs one three times as often " +
				"as another")
		}
		return script, scriptErr
	}
	w, err := app.Workload(name)
	if err != nil && workload.Suggest(name, app.Workloads()) == "" {
		better := meant(name, []string{scriptName, load.ExecName}, "")
		if better == "" {
			better = "; `dyno load --help` lists them"
		}
		err = fmt.Errorf("unknown workload %q%s", name, better)
	}
	return w, err
}

// scriptOf reads the files of --script before the flags are parsed, for scripts declare options of their own. It
// returns nil when there are none.
func scriptOf(e *env) (workload.Workload, error) {
	if len(e.args) == 0 || e.args[0] != "load" {
		return nil, nil
	}
	var files []string
	for i, a := range e.args {
		if file, ok := strings.CutPrefix(a, "--script="); ok {
			files = append(files, file)
		} else if a == "--script" && i+1 < len(e.args) {
			files = append(files, e.args[i+1])
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	return app.Script(files)
}

// workloadHelp lists the options of one workload.
func workloadHelp(e *env, w io.Writer, x workload.Workload) {
	fmt.Fprintf(w, "%s: %s\n\nOptions (those of every workload: dyno load --help):\n", x.Name(), x.Title())
	for _, o := range x.Options() {
		what := o.Help
		switch {
		case len(o.Choices) > 0:
			what += ": " + strings.Join(o.Choices, ", ")
		case o.Type == workload.Bool:
			what += ": on, off"
		}
		if o.Default != "" {
			what += " [" + o.Default + "]"
		}
		fmt.Fprintf(w, "  --%-24s %s\n", o.Name, what)
	}
}

// loadFlagError says what was meant by an option that does not exist, and what one takes that does.
func loadFlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string // those of workloads are hidden and meant as well
		c.Flags().VisitAll(func(x *pflag.Flag) { names = append(names, x.Name) })
		name := string(normalName(nil, unknown.GetSpecifiedName()))
		better := meant(name, names, "--")
		if better == "" {
			better = fmt.Sprintf("; `%s --help` lists the options", c.CommandPath())
			if c.Name() != load.ReplayName {
				better = fmt.Sprintf("; `%s --help` and `%[1]s WORKLOAD help` list the options", c.CommandPath())
			}
		}
		return usagef("unknown option --%s%s", unknown.GetSpecifiedName(), better)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return usagef("--%s %s: %v", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
	}
	return usagef("%v; see `%s --help`", err, c.CommandPath())
}

func loadPrepare(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) error {
	plan, err := hasTables(o.data(cfg), "create")
	if err != nil {
		return err
	}
	d := o.data(cfg)
	if o.cache {
		if d.Cache = (app.Runs{App: e.app}).TableCache(o.target); d.Cache != nil {
			d.Cache.Remark = func(text string) { e.remark("%s", sentence(text)) }
		}
	}
	start := time.Now()
	if err := s.Prepare(c.Context(), d, e.progress()); err != nil {
		return err
	}
	tables := plan.Tables[0].Name
	if n := len(plan.Tables); n > 1 {
		tables += " to " + plan.Tables[n-1].Name
	}
	e.remark("Prepared %s in %s (%s).", tables, plan.Schema, unit.Duration(time.Since(start)))
	return nil
}

func loadCleanup(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) error {
	if _, err := hasTables(o.data(cfg), "drop"); err != nil {
		return err
	}
	dropped, err := s.Cleanup(c.Context(), o.data(cfg))
	for _, r := range dropped {
		e.remark("Dropped %s.", r)
	}
	return err
}

// sized returns the options of a workload whose tables take so many bytes. It is the same ones for every step.
func sized(ctx context.Context, e *env, s load.Server, d load.Data, size string) (map[string]string, error) {
	t, err := needs[load.Sizer](s, "--size")
	if err != nil {
		return nil, err
	}
	d.Seed = 0 // rows of another seed are as long on the whole
	d, note, err := t.Sized(ctx, d, size)
	if err != nil {
		return nil, err
	}
	e.remark("%s", note)
	return d.Options, nil
}

// hasTables refuses to do something with the tables of a workload that has none.
func hasTables(d load.Data, what string) (*workload.Plan, error) {
	plan, err := d.Workload.Build(workload.WithThreads(d.Workload, d.Options, d.Threads))
	if err != nil {
		return nil, err
	}
	if len(plan.Tables) == 0 {
		return nil, usagef("%s has no tables of its own to %s: it uses existing tables", plan.Workload, what)
	}
	return plan, nil
}
