package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/unit"
)

// draft is a plan as it is read, before defaults.
type draft struct {
	Plan
	format   int
	warm     *reach[Duration]
	rounds   *reach[int]
	time     *Duration
	turns    *Duration
	seed     *uint64
	control  *bool
	axes     []axis
	servers  *axis
	baseline *baseline
}

// baseline is what the plan says about it.
type baseline struct {
	levels map[string]string
	only   string // the level alone, when its axis is not named
}

// topKeys are all keys of a plan.
func (w Words) topKeys() []key[draft] { return append(w.planKeys(), scaleKey()) }

// planKeys are the keys of a plan but its scales, which are taken out before it is read.
func (w Words) planKeys() []key[draft] {
	plan := func(f func(*Plan) *string) func(*draft) *string { return func(d *draft) *string { return f(&d.Plan) } }
	keys := []key[draft]{
		at("dyno_plan", "Version of the plan's form. This program reads 1.", formatForm(),
			func(d *draft) *int { return &d.format }),
		at("name", "Names the plan: letters, digits, \"-\" and \"_\".", matching(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`,
			"is not a name", `a name is made of letters, digits, "-" and "_", 64 at most`),
			plan(func(p *Plan) *string { return &p.Name })).eg("charset"),
		at("title", "The question that the plan answers.", anyText(), plan(func(p *Plan) *string { return &p.Title })).
			eg("What do charset and collation cost?"),
		at("about", "Anything a reader of the result must know, in sentences.", anyText(),
			plan(func(p *Plan) *string { return &p.About })),
		at("topic", "Of a recipe: the published measurement that it repeats, in a few words.", anyText(),
			plan(func(p *Plan) *string { return &p.Topic })),
		at("database", "The schema that the plan's SQL runs in.", matching(`^[A-Za-z0-9_]{1,64}$`,
			"is not the name of a schema", "use letters, digits and _, 64 at most"),
			plan(func(p *Plan) *string { return &p.Database })).or("lab"),
	}
	keys = append(keys, lift(w.configKeys(), func(d *draft) *Config { return &d.Base })...)
	keys = append(keys,
		w.serversKey(),
		w.axesKey(),
		at("skip", "Combinations of levels that are left out, by axis.", several(levelsForm()),
			func(d *draft) *[]map[string]string { return &d.Skip }).
			eg([]any{map[string]string{"server": "mariadb@10.11", "collation": "utf8mb4_0900_ai_ci"}}),
		baselineKey(),
		at("rows", "The axes that go down the table.", several(anyText()), func(d *draft) *[]string {
			return &d.Table.Rows
		}).or("the first axis, or those that columns does not have"),
		at("columns", "The axes that go across the table.", several(anyText()), func(d *draft) *[]string {
			return &d.Table.Columns
		}).or("all axes but the rows"),
		at("show", "The values of a cell. The first one is what verdicts are about.", several(anyText()),
			func(d *draft) *[]string { return &d.Table.Show }).
			or("tps and p95_ms for a workload, ms and rows_read for probes, else the names of read").
			eg([]string{"tps", "p95_ms", "server_cpu_us_per_op"}),
		at("unit", "The unit of the first value of show, when it is one of read.", anyText(), func(d *draft) *string {
			return &d.Table.Unit
		}).eg("MiB"),
		key[draft]{
			name: "trials", about: "How often and how long is measured.", schema: schemaOf(trialsKeys()),
			read: func(r *reader, n *node, path string, d *draft) { into(r, n, path, trialsKeys(), d) },
		},
		placementKey(),
		at("budget", "No trial starts that would end later than this after the start.", span(1),
			func(d *draft) *Duration { return &d.Budget }).or("none").eg("10m"),
		at("prices", "What servers cost: adds money per month and per million operations to the table.",
			several(object(priceKeys())), func(d *draft) *[]Price { return &d.Prices }),
		at("published", "Published figures, to be compared with the plan's own.", several(object(publishedKeys())),
			func(d *draft) *[]Published { return &d.Published }),
	)
	return keys
}

func formatForm() form[int] {
	return scalarForm(schema{"const": Format}, func(s string) (int, string, string) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil || n < 1:
			return 0, fmt.Sprintf("%q is not a version of the plan's form", short(s)),
				fmt.Sprintf("write dyno_plan: %d", Format)
		case n > Format:
			return 0, fmt.Sprintf("the plan is of form %d, this program reads up to %d", n, Format), "use a newer dyno"
		}
		return n, "", ""
	})
}

// configKeys are the keys of what a variant is made of: at the top of a plan and in a level.
func (w Words) configKeys() []key[Config] {
	sql := "SQL, one statement each."
	keys := []key[Config]{
		at("server", "The server: flavor, or flavor@version as far as it matters, or the path of a server program.",
			serverForm(), func(c *Config) *string { return &c.Server }).eg("mysql@9.7", "mariadb", "postgres@17"),
		at("settings", "Settings of the server at its start, as in my.cnf or postgresql.conf.",
			texts(w.Setting.text(), w.settingName, true), func(c *Config) *map[string]string { return &c.Settings }).
			eg(map[string]string{w.Setting.Name: w.Setting.Value}),
		at("set", "Settings changed on the running server before each trial.",
			texts(w.Set.text(), w.settingName, false), func(c *Config) *map[string]string { return &c.Set }),
		at("filesystem", "A filesystem made for the data on a loop device.", oneOf("ext4", "xfs", "btrfs"),
			func(c *Config) *string { return &c.Filesystem }).or("where the sandboxes are"),
		at("limits", "What the server may use of the machine.", object(limitKeys()), func(c *Config) *limit.Limits {
			return &c.Limits
		}).eg(map[string]any{"cpu": 0.97, "write_bps": "8M"}),
		at("cpus", "The CPUs that the server runs on, as in taskset -c, whatever placement says.", cpusForm(),
			func(c *Config) *string { return &c.CPUs }).or("as placement says").eg("0", "0-3,8"),
		at("workload", "The load of a trial, see `dyno load --help`.", workloadForm(), func(c *Config) *string {
			return &c.Run.Workload
		}).eg("oltp_read_only"),
		at("options", "Options of the workload, with sysbench's names.", optionsForm(),
			func(c *Config) *map[string]string { return &c.Run.Options }).
			eg(map[string]any{"tables": 2, "table-size": 100000}),
		at("threads", "Sessions that run the workload.", whole(1, maxThreads), func(c *Config) *int {
			return &c.Run.Threads
		}).or("1"),
		at("db_ps_mode", "Prepared statements where they can be (auto), or none (disable).", oneOf("auto", "disable"),
			func(c *Config) *string { return &c.Run.PSMode }).or("auto"),
		at("ignore_errors", "Codes of the server's errors that do not end a trial: numbers, of PostgreSQL SQLSTATEs.",
			several(errorCode()), func(c *Config) *[]string { return &c.Run.Ignore }).eg([]string{"1062", "23505"}),
		at("table_options", "Added to the end of CREATE TABLE of the workload's tables.", several(anyText()),
			func(c *Config) *[]string { return &c.TableOptions }).eg("ROW_FORMAT=COMPRESSED"),
		at("data", "What each trial finds in the server.", object(dataKeys()),
			func(c *Config) *Data { return &c.Data }),
		at("probe", "Statements that are measured one by one instead of a workload.", several(object(probeKeys())),
			func(c *Config) *[]Probe { return &c.Probe }),
		at("before", "Steps before each trial.", several(stepForm()), func(c *Config) *[]Step { return &c.Before }),
		at("after", "Steps after each trial, also after one that failed.", several(stepForm()),
			func(c *Config) *[]Step { return &c.After }),
		at("read", "Values read after each trial: name to SQL that returns one number or text. "+sql,
			texts("history: SELECT …", anyName, false), func(c *Config) *map[string]string { return &c.Read }),
		at("predict", "What arithmetic says values of read should be: name to the name of the arithmetic.",
			texts("pool: buffer_pool_size", anyName, false), func(c *Config) *map[string]string { return &c.Predict }),
	}
	if w.IgnoreErrors != "" {
		keys = append(keys, at(w.IgnoreErrors, "The same as ignore_errors.", several(errorCode()),
			func(c *Config) *[]string { return &c.Run.Ignore }))
	}
	return keys
}

const maxThreads = 10_000

// errorCode is the code of an error of the server, kept as a text: a number, or five digits and capitals.
func errorCode() form[string] {
	const pattern = `^([1-9][0-9]{0,4}|[0-9A-Z]{5})$`
	f := matching(pattern, "is not the code of an error", "such as 1213 or 40P01")
	f.schema = schema{"anyOf": []schema{whole(1, 99_999).schema, {"type": "string", "pattern": pattern}}}
	return f
}

func limitKeys() []key[limit.Limits] {
	return []key[limit.Limits]{
		at("cpu", "CPUs: 0.97 or 97% is 97 % of one.", cpuForm(), func(l *limit.Limits) *float64 {
			return &l.CPU
		}).or("none"),
		at("memory", "Bytes.", size(), func(l *limit.Limits) *uint64 { return &l.Memory }).or("none").eg("2G"),
		at("read_iops", "Reads per second from the data's device.", size(), func(l *limit.Limits) *uint64 {
			return &l.ReadIOPS
		}).or("none").eg(500),
		at("write_iops", "Writes per second to it.", size(), func(l *limit.Limits) *uint64 {
			return &l.WriteIOPS
		}).or("none"),
		at("read_bps", "Bytes per second read from it.", size(), func(l *limit.Limits) *uint64 {
			return &l.ReadBPS
		}).or("none").eg("8M"),
		at("write_bps", "Bytes per second written to it.", size(), func(l *limit.Limits) *uint64 {
			return &l.WriteBPS
		}).or("none"),
	}
}

func cpuForm() form[float64] { return portion(0.01, 8192) }

func dataKeys() []key[Data] {
	return []key[Data]{
		at("workload", "Whose tables are prepared.", workloadForm(), func(d *Data) *string { return &d.Workload }).
			or("the workload of the trial"),
		at("options", "Options of the preparation. Those of the workload apply too.", optionsForm(),
			func(d *Data) *map[string]string { return &d.Options }),
		at("threads", "Sessions that prepare.", whole(1, maxThreads), func(d *Data) *int {
			return &d.Threads
		}).or("as many as CPUs"),
		at("sql", "SQL after the tables, one statement each.", several(anyText()),
			func(d *Data) *[]string { return &d.SQL }),
	}
}

func probeKeys() []key[Probe] {
	return []key[Probe]{
		at("name", "Names the probe.", matching(`^[A-Za-z0-9_-]{1,64}$`, "is not a name",
			`a name is made of letters, digits, "-" and "_"`), func(p *Probe) *string { return &p.Name }),
		at("sql", "The statement.", anyText(), func(p *Probe) *string { return &p.SQL }),
		at("times", "Executions in a trial, of which the median counts.", whole(1, 100_000), func(p *Probe) *int {
			return &p.Times
		}).or("5"),
	}
}

func stepForm() form[Step] {
	f := object([]key[Step]{
		at("sql", "A statement.", anyText(), func(s *Step) *string { return &s.SQL }),
		at("wait", "A statement asked again until it returns a number other than 0, a minute at most.", anyText(),
			func(s *Step) *string { return &s.Wait }),
		at("shell", "A command for /bin/sh, with DYNO_SOCKET, DYNO_PORT, DYNO_DATADIR and DYNO_VARIANT in its "+
			"environment.", anyText(), func(s *Step) *string { return &s.Shell }),
	})
	f.schema["minProperties"], f.schema["maxProperties"] = 1, 1
	read := f.read
	f.read = func(r *reader, n *node, path string) (Step, bool) {
		s, ok := read(r, n, path)
		if ok && n.kind != mapping || n.kind == mapping && len(n.entries) != 1 {
			r.say(n, path, "", "a step is one of sql, wait and shell")
			return s, false
		}
		return s, ok
	}
	return f
}

// trialsKeys read into the draft, because of several it matters whether they are said.
func trialsKeys() []key[draft] {
	return []key[draft]{
		at("time", "How long a trial measures a workload.", some(span(Duration(1e9))), func(d *draft) **Duration {
			return &d.time
		}).or("20s").eg("20s"),
		at("warmup", "Load before that, which does not count: at least..at most. It ends when the rate has become "+
			"steady.", some(spans()), func(d *draft) **reach[Duration] { return &d.warm }).or("3s..20s").eg("3s..20s"),
		at("rounds", "Rounds, at least..at most. Each runs every variant once, in random order; a variant whose "+
			"interval is tight enough runs no more.", some(wholes(1, maxRounds)),
			func(d *draft) **reach[int] { return &d.rounds }).
			or("5..10 for a workload, 3 for probes, 1 for values that are only read").eg("5..10", 3),
		at("margin", "Differences up to this are the same.", portion(0.001, 0.5), func(d *draft) *float64 {
			return &d.Trials.Margin
		}).or("2%").eg("2%"),
		at("confidence", "Of the verdicts, over all of them.", portion(0.5, 0.9999), func(d *draft) *float64 {
			return &d.Trials.Conf
		}).or("95%").eg("95%"),
		at("fresh", "What a trial starts with: restored data and a restarted server (data), a restarted server "+
			"(server), the running server (none), or the running server under its running load (live).",
			oneOf(FreshData, FreshServer, FreshNone, FreshLive), func(d *draft) *Fresh { return &d.Trials.Fresh }).
			or("data when the workload writes or variants differ in their steps (before, after), else server for a " +
				"workload and none for probes and values read"),
		at("turns", "Length of the time slices in which the variants of a round are interleaved under one load on "+
			"one server, until each has had its time; the start of each slice, at least 20ms, is left out. For "+
			"variants that differ only in CPU quotas and set, and whose effect does not linger. 0: each variant has "+
			"its own trials.", some(span(0)), func(d *draft) **Duration { return &d.turns }).
			or("200ms when the variants differ in CPU quotas alone and the load only reads or is live, else 0").
			eg("200ms"),
		at("raw", "Judge rates as they are. Otherwise they are corrected for the speed of the server's CPUs, which "+
			"is measured during the load: the speed of virtual CPUs varies.", flag(), func(d *draft) *bool {
			return &d.Trials.Raw
		}).or("false"),
		at("settle", "Wait before each trial until the server has stopped writing.", flag(), func(d *draft) *bool {
			return &d.Trials.Settle
		}).or("false"),
		at("drop_caches", "Drop the kernel's caches before each trial; needs root.", flag(), func(d *draft) *bool {
			return &d.Trials.DropCaches
		}).or("false"),
		at("control", "Run the baseline twice in each round: the A/A comparison that shows the noise.", some(flag()),
			func(d *draft) **bool { return &d.control }).or("true, false for values that are only read"),
		at("seed", "Of the random orders and of the data: the same seed gives the same ones.", some(seed()),
			func(d *draft) **uint64 { return &d.seed }).or("1"),
	}
}

const maxRounds = 1000

// some remembers that a value was given.
func some[V any](f form[V]) form[*V] {
	return form[*V]{f.schema, func(r *reader, n *node, path string) (*V, bool) {
		v, ok := f.read(r, n, path)
		return &v, ok
	}}
}

func placementKey() key[draft] {
	mode := oneOf(Split, Shared, Free)
	lists := object([]key[Placement]{
		at("server", "The server's CPUs, as in taskset -c.", cpusForm(), func(p *Placement) *string {
			return &p.Server
		}).eg("0"),
		at("client", "The client's.", cpusForm(), func(p *Placement) *string { return &p.Client }).eg("1"),
	})
	lists.schema["required"] = []string{"server", "client"}
	return key[draft]{
		name: "placement",
		about: "Where server and client run: on separate CPUs (split), on all CPUs (shared), where the kernel puts " +
			"them (free), or on given ones.",
		normal: "split", example: []any{"split", map[string]string{"server": "0", "client": "1"}},
		schema: schema{"anyOf": []schema{mode.schema, lists.schema}},
		read: func(r *reader, n *node, path string, d *draft) {
			if n.kind != mapping {
				d.Placement.Mode, _ = mode.read(r, n, path)
				return
			}
			if p, ok := lists.read(r, n, path); ok {
				for _, name := range []string{"server", "client"} {
					if n.get(name) == nil {
						r.say(n, path, "", "%s is missing: name the CPUs of both, server and client", name)
					}
				}
				p.Mode = Given
				d.Placement = p
			}
		},
	}
}

func priceKeys() []key[Price] {
	return []key[Price]{
		at("for", "Levels by axis that it applies to.", levelsForm(), func(p *Price) *map[string]string {
			return &p.For
		}).or("all"),
		at("month", "Money per month.", decimal(0, 1e12), func(p *Price) *float64 { return &p.Month }),
		at("currency", "Its sign.", anyText(), func(p *Price) *string { return &p.Currency }).or("$"),
	}
}

func publishedKeys() []key[Published] {
	return []key[Published]{
		at("for", "Levels by axis that it applies to.", levelsForm(), func(p *Published) *map[string]string {
			return &p.For
		}).or("the whole table"),
		at("text", "What was found, in words.", anyText(), func(p *Published) *string { return &p.Text }).
			eg("1.55-1.62× slower than latin1"),
		at("lo", "As a ratio to the baseline, the lower end.", decimal(0, 1e9),
			func(p *Published) *float64 { return &p.Lo }),
		at("hi", "The upper end.", decimal(0, 1e9), func(p *Published) *float64 { return &p.Hi }),
		at("absent", "Why this is not measured here.", anyText(), func(p *Published) *string { return &p.Absent }),
	}
}

// levelsForm maps axes to levels.
func levelsForm() form[map[string]string] { return texts("axis: level", anyName, false) }

func baselineKey() key[draft] {
	return key[draft]{
		name: "baseline",
		about: "What a cell is compared with: the variant that has these levels and is the same in the axes not " +
			"named. A level alone implies its axis; none compares nothing.",
		normal: "the first level of each axis of the columns, or of the last axis of the rows when there are no " +
			"columns",
		schema: schema{"anyOf": []schema{{"type": []string{"string", "number", "boolean"}}, levelsForm().schema}},
		read: func(r *reader, n *node, path string, d *draft) {
			if n.kind == scalar {
				d.baseline = &baseline{only: n.text}
				return
			}
			if levels, ok := levelsForm().read(r, n, path); ok {
				d.baseline = &baseline{levels: levels}
			}
		}, example: []any{map[string]string{"collation": "latin1"}, "mysql@9.7"},
	}
}

var flavors = []string{"mysql", "mariadb", "percona", "postgres"}

func serverForm() form[string] {
	one := oneServerForm()
	return form[string]{one.schema, func(r *reader, n *node, path string) (string, bool) {
		if n.kind == list {
			r.say(n, path, "write servers: [a, b] to compare several", "takes a single value, not a list")
			return "", false
		}
		return one.read(r, n, path)
	}}
}

func oneServerForm() form[string] {
	return scalarForm(schema{"type": "string"}, func(s string) (string, string, string) {
		if strings.Contains(s, "/") && !strings.ContainsAny(s, "\n\r") {
			return s, "", ""
		}
		if rest, ok := strings.CutPrefix(s, "postgresql"); ok { // its other name, also for sandboxes
			s = "postgres" + rest
		}
		flavor, version, dated := strings.Cut(s, "@")
		ok := false
		for _, f := range flavors {
			ok = ok || f == flavor
		}
		switch {
		case !ok && !dated:
			return "", fmt.Sprintf("unknown server %q", short(s)), hintOf(flavor, flavors)
		case !ok:
			hint := hintOf(flavor, flavors)
			if near := nearest(flavor, flavors); near != "" {
				hint = meant + strconv.Quote(near+"@"+version) + "?"
			}
			return "", fmt.Sprintf("unknown server %q", short(s)), hint
		case dated && !versions.MatchString(version):
			like := []string{"@9", "@9.7", "@9.7.4"}
			if dbms.Flavor(flavor).IsPostgres() {
				like = []string{"@17", "@17.10"}
			}
			return "", fmt.Sprintf("%q is not a version", short(version)), "write it as far as it matters: " + flavor +
				strings.Join(like, ", "+flavor)
		}
		return s, "", ""
	})
}

var (
	versions     = lazyregexp.New(`^\d{1,4}(\.\d{1,4}){0,2}$`)
	settingNames = lazyregexp.New(`^[a-z][a-z0-9_.]{0,127}$`)
	optionNames  = lazyregexp.New(`^[a-z][a-z0-9-]{0,63}$`)
)

// settingName brings a setting's name to its one spelling: lower case with "_".
func (w Words) settingName(s string) (string, string, string) {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "--")), "-", "_")
	if !settingNames.MatchString(name) {
		return "", fmt.Sprintf("%q is not the name of a setting", short(s)),
			"write it as in my.cnf" + suchAs(w.Setting.Name)
	}
	return name, "", ""
}

// optionName brings an option's name to its one spelling: with "-".
func optionName(s string) (string, string, string) {
	name := strings.ReplaceAll(strings.TrimPrefix(s, "--"), "_", "-")
	if !optionNames.MatchString(name) {
		return "", fmt.Sprintf("%q is not the name of an option", short(s)), "such as table-size"
	}
	return name, "", ""
}

const cpusPattern = `^[0-9]{1,4}(-[0-9]{1,4}(:[0-9]{1,4})?)?(,[0-9]{1,4}(-[0-9]{1,4}(:[0-9]{1,4})?)?)*$`

var cpuLists = lazyregexp.New(cpusPattern)

// cpusForm is a list of CPUs.
func cpusForm() form[string] {
	s := schema{"anyOf": []schema{
		{"type": "string", "pattern": cpusPattern},
		{"type": "integer", "minimum": 0, "maximum": 9999},
	}}
	return scalarForm(s, func(s string) (string, string, string) {
		const hint = "write it as taskset -c takes it: 0, 0-3, 0,2-3"
		if !cpuLists.MatchString(s) {
			return "", fmt.Sprintf("%q is not a list of CPUs", short(s)), hint
		}
		for part := range strings.SplitSeq(s, ",") {
			ends, step, _ := strings.Cut(part, ":")
			from, to, ranged := strings.Cut(ends, "-")
			a, _ := strconv.Atoi(from)
			b, _ := strconv.Atoi(to)
			if ranged && b < a || step != "" && strings.Trim(step, "0") == "" {
				return "", fmt.Sprintf("%q names no CPUs", part), hint
			}
		}
		return s, "", ""
	})
}

// amount reads a level as a number: plain, a share or a size.
func amount(s string) (float64, bool) {
	if strings.HasSuffix(s, "%") {
		return share(s)
	}
	if v, ok := number(s); ok {
		return v, true
	}
	v, err := unit.ParseSize(s)
	return float64(v), err == nil
}
