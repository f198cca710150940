package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/workload"
)

// loadFlags are the general options of a load, sysbench's and ours: those that are not a workload's own.
type loadFlags struct {
	loadTarget
	threads     listValue[int]
	time        secondsValue
	events      countValue
	rate        string
	rateKind    string
	warmup      secondsValue
	steady      switchValue
	terminals   countValue
	loops       countValue
	driver      switchValue
	seed        uint64
	interval    secondsValue
	checkpoints listValue[time.Duration]
	percentile  percentileValue
	percentiles listValue[float64]
	histogram   switchValue
	hdrLog      string
	psMode      string
	ignore      string
	ignoreState string
	force       switchValue
	size        string
	cache       switchValue
	configFile  string
	dbDriver    string
	verify      switchValue
	scripts     []string
	command     string
}

// loadAliases are sysbench's older names for some options, and what it calls one for PostgreSQL.
var loadAliases = map[string]string{
	"num-threads": "threads", "max-requests": "events",
	"max-time": "time", "tx-rate": "rate", "pgsql-db": "mysql-db",
}

// loadIdle are options of sysbench that are taken for the sake of scripts and change nothing, with the values that mean
// the same here and why others do.
var loadIdle = []struct {
	name, neutral string
	isSwitch      bool
	why           string
}{
	{"verbosity", "3", false, "there is one level of messages; --quiet leaves remarks out"},
	{"debug", "off", true, "there are no debugging messages"},
	{"validate", "off", true, "every answer is read and decoded anyway"},
	{"thread-stack-size", "64K", false, "stacks grow as they need to"},
	{"forced-shutdown", "off", false, "operations under way at the end of --time are always finished; Ctrl-C ends " +
		"them within a second"},
	{"db-debug", "off", true, "there are no debugging messages"},
	{"mysql-debug", "off", true, "there are no debugging messages"},
}

// loadRefused are options of sysbench that would change what is measured and are not there.
var loadRefused = []struct {
	name, neutral string
	isSwitch      bool
	why           string
}{
	{"mysql-compression", "off", true, "connections are never compressed"},
	{"mysql-dry-run", "off", true, "a load without a server measures nothing"},
	{"mysql-ssl-cipher", "", false, "client and server choose the cipher"},
}

func normalName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if n, ok := loadAliases[name]; ok {
		name = n
	}
	return pflag.NormalizedName(name)
}

// add puts the options into f.
func (o *loadFlags) add(f *pflag.FlagSet) {
	f.SetNormalizeFunc(normalName)
	f.SortFlags = false
	o.threads = listValue[int]{typ: "N[,N...]", parse: threadCount}
	o.checkpoints = listValue[time.Duration]{typ: "list", parse: parseSeconds}
	o.percentiles = listValue[float64]{typ: "list", parse: percentileNumber}
	_ = o.threads.Set("1")
	o.percentile = 95
	o.time, o.interval = secondsValue(10*time.Second), secondsValue(time.Second)
	onOff := func(v *switchValue, name, usage string) {
		f.Var(v, name, usage)
		f.Lookup(name).NoOptDefVal = "on"
	}
	// Which server.
	o.loadTarget.flags(f)
	f.StringVar(&o.ignore, "mysql-ignore-errors", "1213,1020,1205", "server errors after which the operation is "+
		"given up and the run continues, or all;\n1213, 1205, 1020, 1412 and 1615 are always retried")
	f.StringVar(&o.ignoreState, "pgsql-ignore-errors", "", "SQLSTATEs of PostgreSQL's errors to continue after, or "+
		"all; 40001, 40P01, 55P03 and\n23505 are always retried")
	f.StringVar(&o.psMode, "db-ps-mode", "auto", "auto: prepared statements; disable: plain text")
	f.StringVar(&o.dbDriver, "db-driver", "mysql", "mysql or pgsql")
	_ = f.MarkHidden("db-driver")
	// How much, how long.
	f.Var(&o.threads, "threads", "sessions; 1,2,4,8 runs once with each")
	f.Var(&o.time, "time", "how long to run, 0 for no limit")
	f.Var(&o.events, "events", "operations of all sessions together, 0 for no limit")
	f.Var(&o.warmup, "warmup-time", "warm-up time, not counted in the figures")
	onOff(&o.steady, "steady", "end as soon as the throughput is steady, within --time")
	f.StringVar(&o.rate, "rate", "0", "operations due per second, whether a session is free or not; 0 for a closed "+
		"loop. A `shape` varies\nover time: 100..2000@60s rises, 500@30s,1000 steps, 500,+2000@10s/1s has bursts")
	f.StringVar(&o.rateKind, "rate-kind", "poisson", "poisson: random arrivals; uniform: evenly spaced arrivals")
	f.Var(&o.terminals, "terminals", "terminals with think times that share the sessions; 0 for one each")
	f.Uint64Var(&o.seed, "rand-seed", 0, "random seed, 0 picks one")
	f.Var(&o.loops, "loops", "event loops that drive the sessions, 0 for automatic")
	onOff(&o.driver, "driver", "drive every session with the general driver, not with event loops")
	f.StringVar(&o.size, "size", "", "size of the tables: `bytes` such as 10G, 2xRAM, 0.5xpool, instead of "+
		"--table-size or --scale")
	o.cache = true
	onOff(&o.cache, "cache", "in a sandbox, keep prepared tables as files and reuse them next time")
	onOff(&o.force, "force", "let prepare replace existing tables, whoever created them")
	onOff(&o.verify, "verify", "check the tables before and after a run, as the check step does")
	f.StringArrayVar(&o.scripts, "script", nil, "SQL `file` for the workload script; may be repeated, with @WEIGHT "+
		"appended")
	f.StringVar(&o.command, "command", "", "command `line` for /bin/sh for the workload exec, one operation per "+
		"execution")
	f.StringVar(&o.configFile, "config-file", "", "read options from this `file`, one a line: threads=8")
	// What is told.
	f.Var(&o.interval, "report-interval", "seconds between lines, 0 for none")
	f.Var(&o.checkpoints, "report-checkpoints", "print the full figures at these seconds and restart them from zero")
	f.Var(&o.percentile, "percentile", "percentile of the latency in lines and summary, 0 for none")
	f.Var(&o.percentiles, "percentiles", "percentiles in the latency table, such as 50,99,99.99")
	onOff(&o.histogram, "histogram", "print the histogram of the latencies")
	f.StringVar(&o.hdrLog, "hdr-log", "", "write every second's histograms to this `file`, as HdrHistogram's tools "+
		"read them")
	for _, list := range [][]struct {
		name, neutral string
		isSwitch      bool
		why           string
	}{loadIdle, loadRefused} {
		for _, x := range list {
			f.String(x.name, x.neutral, "")
			_ = f.MarkHidden(x.name)
			if x.isSwitch {
				f.Lookup(x.name).NoOptDefVal = "on"
			}
		}
	}
}

// remarkIdle tells of options that have no effect, and refuses those that would need one.
func remarkIdle(e *env, f *pflag.FlagSet) error {
	for _, x := range loadRefused {
		if v := f.Lookup(x.name).Value.String(); v != x.neutral {
			return usagef("--%s=%s: %s; leave it out", x.name, v, x.why)
		}
	}
	for _, x := range loadIdle {
		if v := f.Lookup(x.name).Value.String(); v != x.neutral {
			e.remark("--%s has no effect: %s.", x.name, x.why)
		}
	}
	return nil
}

// config returns what the options ask for, with the first number of threads.
func (o *loadFlags) config(w workload.Workload, options map[string]string) (load.Config, error) {
	cfg := load.Config{
		Workload: w, Options: options, Threads: o.threads.list[0], Time: time.Duration(o.time),
		Events: uint64(o.events), Seed: o.seed,
		PSMode: load.PSMode(o.psMode), Warmup: time.Duration(o.warmup), Steady: bool(o.steady),
		Terminals: int(o.terminals), Loops: int(o.loops),
		Driver: bool(o.driver), Statements: true,
	}
	if _, err := w.Build(options); err != nil {
		return cfg, err
	}
	var err error
	if cfg.Rate, err = pace.Parse(o.rate); err != nil {
		return cfg, fmt.Errorf("--rate: %w", err)
	}
	if cfg.RateKind, err = pace.ParseKind(o.rateKind); err != nil {
		return cfg, fmt.Errorf("--rate-kind: %w", err)
	}
	switch {
	case o.psMode != "auto" && o.psMode != "disable":
		return cfg, fmt.Errorf("--db-ps-mode %s: it takes auto or disable", o.psMode)
	case o.dbDriver != "mysql" && o.dbDriver != "pgsql":
		return cfg, fmt.Errorf("--db-driver %s: it takes mysql or pgsql", o.dbDriver)
	case !slices.IsSorted(o.checkpoints.list):
		return cfg, fmt.Errorf("--report-checkpoints %s: must be in ascending order", o.checkpoints.given)
	case o.terminals > 0 && int(o.terminals) < slices.Max(o.threads.list):
		return cfg, fmt.Errorf("--terminals %d: terminals share sessions, so there must be at least as many as "+
			"--threads", o.terminals)
	case o.terminals > 0 && !cfg.Rate.IsZero():
		return cfg, fmt.Errorf("--terminals %d: --rate already says when operations are due; use one of them",
			o.terminals)
	case bool(o.steady) && o.time == 0:
		return cfg, fmt.Errorf("--steady: throughput may never become steady, so set with --time when to give up")
	}
	if o.ignore == "all" {
		cfg.IgnoreAll = true
		return cfg, nil
	}
	for _, s := range strings.FieldsFunc(o.ignore, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := strconv.ParseUint(s, 10, 16); err != nil {
			return cfg, fmt.Errorf("--mysql-ignore-errors %s: it takes error numbers with commas between, or all",
				o.ignore)
		}
		cfg.Ignore = append(cfg.Ignore, s)
	}
	return cfg, nil
}

// data says which tables to prepare or to drop. As many sessions load as the largest number asked for.
func (o *loadFlags) data(c load.Config) load.Data {
	return load.Data{
		Workload: c.Workload, Options: c.Options, Threads: slices.Max(o.threads.list),
		Seed: c.Seed, Force: bool(o.force),
	}
}
