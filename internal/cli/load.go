package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dyno/internal/load"
	"dyno/internal/run"
	"dyno/internal/target"
	"dyno/internal/workload"
)

// loadFlags are sysbench's general options, the ones that are not a workload's own.
type loadFlags struct {
	target             string
	host, socket, user string
	port               int
	threads            int
	time               float64
	events             uint64
	seed               uint64
	interval           float64
	percentile         int
	psMode             string
	ignore             string
	force              bool
}

func (e *env) load() *cobra.Command {
	var o loadFlags
	c := &cobra.Command{
		Use:   "load WORKLOAD prepare|run|cleanup",
		Short: "generate load with sysbench's workloads, options and tables",
		Long: `Runs a workload with closed-loop sessions and prints a line each second. Options and their defaults are sysbench's; "_" and
"-" mean the same, and sizes take K, M and G. The server is --target T, or sysbench's --mysql-host and so on.
Ctrl-C stops cleanly and prints the figures so far. Workloads:
` + e.workloadList(),
		Example: "  dyno load oltp_read_write prepare --target sandbox:mariadb --tables=4 --table-size=100000\n" +
			"  dyno load oltp_read_write run --target sandbox:mariadb --tables=4 --table-size=100000 --threads=8 --time=60",
		Args: args(2, 2),
	}
	f := c.Flags()
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	f.StringVar(&o.target, "target", "", "TARGET, see `dyno --help`")
	f.StringVar(&o.host, "mysql-host", "localhost", "host")
	f.IntVar(&o.port, "mysql-port", 3306, "port")
	f.StringVar(&o.socket, "mysql-socket", "", "socket")
	f.StringVar(&o.user, "mysql-user", "sbtest", "user; the password comes from $DYNO_PASSWORD or ~/.my.cnf")
	f.String("mysql-password", "", "")
	_ = f.MarkHidden("mysql-password")
	f.IntVar(&o.threads, "threads", 1, "sessions")
	f.Float64Var(&o.time, "time", 10, "seconds to run, 0 for no limit")
	f.Uint64Var(&o.events, "events", 0, "operations of all sessions together, 0 for no limit")
	f.Uint64Var(&o.seed, "rand-seed", 0, "seed, 0 draws one")
	f.Float64Var(&o.interval, "report-interval", 1, "seconds between lines, 0 for none")
	f.IntVar(&o.percentile, "percentile", 95, "percentile of the latency in the lines and the summary")
	f.StringVar(&o.psMode, "db-ps-mode", "auto", "auto prepares statements, disable sends texts")
	f.StringVar(&o.ignore, "mysql-ignore-errors", "1213,1020,1205", "server errors that do not end the run, or all")
	f.BoolVar(&o.force, "force", false, "prepare over tables that are in the way")
	known := map[string]bool{}
	f.VisitAll(func(x *pflag.Flag) { known[x.Name] = true })
	own := map[string]*string{}
	for _, w := range e.workloads() {
		for _, x := range w.Options() {
			if own[x.Name] == nil && !known[x.Name] {
				v := new(string)
				own[x.Name] = v
				f.Var((*optionValue)(v), x.Name, x.Help+" ("+x.Default+")")
				if x.Type == workload.Bool {
					f.Lookup(x.Name).NoOptDefVal = "on"
				}
			}
		}
	}
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		w, err := e.app.Workload(a[0])
		if err != nil {
			return &exitError{exitUsage, err}
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
		verb := a[1]
		if !slices.Contains([]string{"prepare", "run", "cleanup"}, verb) {
			return usagef("%s: unknown step %q; it is prepare, run or cleanup", c.CommandPath(), verb)
		}
		text, err := o.targetText(f)
		if err != nil {
			return err
		}
		t, err := e.app.Open(c.Context(), text, e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		switch verb {
		case "prepare":
			return load.Prepare(c.Context(), t, o.data(cfg), e.progress())
		case "cleanup":
			dropped, err := load.Cleanup(c.Context(), t, o.data(cfg))
			for _, r := range dropped {
				e.remark("Dropped %s.", r)
			}
			return err
		}
		return e.loadRun(c, t, cfg, o)
	}
	return c
}

func (e *env) workloads() []workload.Workload { return e.app.Workloads() }

func (e *env) workloadList() string {
	var b strings.Builder
	for _, w := range e.workloads() {
		fmt.Fprintf(&b, "  %-20s %s\n", w.Name(), w.Title())
	}
	return b.String()
}

// optionValue takes a workload's option as text; the workload itself knows what it may be.
type optionValue string

func (v *optionValue) String() string     { return string(*v) }
func (v *optionValue) Set(s string) error { *v = optionValue(s); return nil }
func (v *optionValue) Type() string       { return "value" }

func (o loadFlags) config(w workload.Workload, options map[string]string) (load.Config, error) {
	cfg := load.Config{
		Workload: w, Options: options, Threads: o.threads, Time: time.Duration(o.time * float64(time.Second)), Events: o.events, Seed: o.seed,
		PSMode: load.PSMode(o.psMode),
	}
	if _, err := w.Build(options); err != nil {
		return cfg, err
	}
	switch {
	case o.threads < 1:
		return cfg, fmt.Errorf("--threads %d: it takes 1 or more", o.threads)
	case o.time < 0:
		return cfg, fmt.Errorf("--time %v: it takes 0 (no limit) or more", o.time)
	case o.percentile < 1 || o.percentile > 100:
		return cfg, fmt.Errorf("--percentile %d: it takes 1 to 100", o.percentile)
	case o.psMode != "auto" && o.psMode != "disable":
		return cfg, fmt.Errorf("--db-ps-mode %s: it takes auto or disable", o.psMode)
	}
	if o.ignore == "all" {
		cfg.IgnoreAll = true
		return cfg, nil
	}
	for _, s := range strings.FieldsFunc(o.ignore, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			return cfg, fmt.Errorf("--mysql-ignore-errors %s: it takes error numbers with commas between, or all", o.ignore)
		}
		cfg.Ignore = append(cfg.Ignore, uint16(n))
	}
	return cfg, nil
}

// data says which tables to prepare or to drop.
func (o loadFlags) data(c load.Config) load.Data {
	return load.Data{Workload: c.Workload, Options: c.Options, Threads: c.Threads, Seed: c.Seed, Force: o.force}
}

// targetText returns the TARGET that the flags mean: --target, or sysbench's own options.
func (o loadFlags) targetText(f *pflag.FlagSet) (string, error) {
	var given []string
	for _, n := range []string{"mysql-host", "mysql-port", "mysql-socket", "mysql-user"} {
		if f.Changed(n) {
			given = append(given, "--"+n)
		}
	}
	switch {
	case f.Changed("mysql-password"):
		return "", usagef("--mysql-password: everybody on this machine can read arguments, so no password is taken from them; set DYNO_PASSWORD, use --defaults-file or --ask-pass")
	case o.target != "" && len(given) > 0:
		return "", usagef("--target and %s both say which server: use one of them", strings.Join(given, ", "))
	case o.target != "":
		return o.target, nil
	case len(given) == 0:
		return "", usagef("say which server: --target T, or --mysql-host, --mysql-port, --mysql-socket, --mysql-user")
	}
	s := target.Spec{Scheme: "mysql", Network: "tcp", Address: o.host + ":" + strconv.Itoa(o.port), User: o.user}
	if o.socket != "" {
		s.Network, s.Address = "unix", o.socket
	}
	return s.URL(), nil
}

func (e *env) loadRun(c *cobra.Command, t *target.Target, cfg load.Config, o loadFlags) error {
	p := newTickPrinter(e, o)
	r, ticks, err := e.app.Load(c.Context(), t, cfg, p.tick)
	p.flush()
	if r.Elapsed == 0 && err != nil {
		return err
	}
	if e.json() {
		perr := e.writeJSON(struct {
			Message string `json:"message"`
			run.Run
		}{"summary", r})
		return errors.Join(perr, err)
	}
	summary(e, r, ticks, o.percentile)
	return err
}
