package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/pace"
)

const execHelp = `exec: your own command, run repeatedly

Each operation is one execution of --command 'LINE' by /bin/sh. An exit status other than 0 is an error, counted by its number; it ends
the run unless --mysql-ignore-errors lists it, or is all. If --target or --mysql-host and so on name a server, the command finds it in
DYNO_HOST and DYNO_PORT, or DYNO_SOCKET, in DYNO_USER and DYNO_DATABASE, and in DYNO_DEFAULTS_FILE, which also has the password:

  dyno load exec run --target db1 --threads=4 --time=30 --command 'mysql --defaults-file="$DYNO_DEFAULTS_FILE" -e "SELECT 1"'

The line is stored with the run, appears in its report, and any account of the machine can see it in the process list. What looks like a
password is left out when it is stored; do not write one into it anyway.
`

// loadExec runs a command as a workload.
func loadExec(e *env, c *cobra.Command, step string, o *loadFlags) (err error) {
	if step == "help" {
		fmt.Fprint(e.Out, execHelp)
		return nil
	}
	if o.configFile != "" {
		if err := readConfigFile(o.configFile, c.Flags()); err != nil {
			return err
		}
	}
	switch {
	case step != "run":
		return usagef("%s %s: a command has no tables: its steps are run and help", load.ExecName, step)
	case strings.TrimSpace(o.command) == "":
		return usagef("say which: --command 'LINE'; `dyno load exec help` explains it")
	}
	cfg := load.ExecConfig{
		Command: o.command, Time: time.Duration(o.time), Warmup: time.Duration(o.warmup), Events: uint64(o.events),
		RateKind: pace.Kind(o.rateKind), Seed: o.seed,
	}
	if cfg.Rate, err = pace.Parse(o.rate); err != nil {
		return usagef("--rate: %v", err)
	}
	if _, err := pace.ParseKind(o.rateKind); err != nil {
		return usagef("--rate-kind: %v", err)
	}
	if cfg.IgnoreAll = o.ignore == "all"; !cfg.IgnoreAll && c.Flags().Changed("mysql-ignore-errors") {
		for _, s := range strings.FieldsFunc(o.ignore, func(r rune) bool { return r == ',' || r == ' ' }) {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 || n > 255 {
				return usagef("--mysql-ignore-errors %s: for a command it takes exit statuses from 1 to 255 with "+
					"commas between, or all", o.ignore)
			}
			cfg.Ignore = append(cfg.Ignore, n)
		}
	}
	if err := remarkIdle(e, c.Flags()); err != nil {
		return err
	}
	if o.target != "" || slices.ContainsFunc(serverFlags, c.Flags().Changed) {
		text, err := o.text(c.Flags())
		if err != nil {
			return err
		}
		if cfg.Server, err = e.app.Resolve(c.Context(), text, e.login); err != nil {
			return err
		}
	}
	var log *hdrLog
	if o.hdrLog != "" {
		if log, err = openHDRLog(o.hdrLog); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.close()) }()
	}
	runs, err := loadAll(c.Context(), e, o, func(threads int, sink func(loadresult.Tick)) (loadresult.Run, error) {
		cfg.Threads = threads
		r, _, err := app.Runs{App: e.app}.Exec(c.Context(), cfg, sink)
		return r, err
	}, log)
	if err != nil {
		return err
	}
	return invalid(runs)
}
