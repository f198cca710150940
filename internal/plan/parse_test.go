package plan_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/workload"
)

// head is the beginning of a plan that has nothing wrong, three lines.
// parse is plan.Parse with the words that dyno has.
func parse(text []byte, o plan.Options) (plan.Plan, error) {
	o.Words = plan.TestWords
	return plan.Parse(text, o)
}

const head = "dyno_plan: 1\nname: x\nserver: mysql\n"

// load is head with a load, four lines.
const load = head + "workload: oltp_read_only\n"

func good(t *testing.T, text string, o plan.Options) plan.Plan {
	t.Helper()
	p, err := parse([]byte(text), o)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return p
}

func variants(t *testing.T, p plan.Plan) []plan.Variant {
	t.Helper()
	vs, err := p.Variants()
	if err != nil {
		t.Fatal(err)
	}
	return vs
}

// TestProblems gives plans and all that is said of them.
func TestProblems(t *testing.T) {
	o := plan.Options{File: "p.yaml"}
	f := func(text string, want ...string) {
		t.Helper()
		_, err := parse([]byte(text), o)
		var ps *plan.Problems
		if !errors.As(err, &ps) {
			t.Errorf("%.300s\nis accepted (%v), want %q", text, err, want)
			return
		}
		if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
			t.Errorf("%.300s\nsays\n  %s\nwant\n  %s", text, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}

	// not a plan at all
	f("", "p.yaml: the plan is empty")
	f("# nothing\n", "p.yaml: the plan is empty")
	f("- a\n", "p.yaml:1:1: a plan is a mapping (key: value), not a list; it begins with dyno_plan: 1")
	f("name: \"x\n", `p.yaml:1:7: broken YAML: could not find end character of double-quoted text`)
	f("dyno_plan: 1\nname: x\n  y: 1\n", `p.yaml:2:7: broken YAML: mapping value is not allowed in this context`)
	f("dyno_plan: 1\nname: \xff\n", "p.yaml:2:7: not UTF-8 text; save the file as UTF-8")
	f("dyno_plan: 1\x00\n", "p.yaml:1:13: not UTF-8 text; save the file as UTF-8")
	f(load+strings.Repeat("# padding\n", 120_000), "p.yaml: 1200060 bytes are too many for a plan; at most 1 MiB are "+
		"read")
	f(load+"---\nname: y\n", "p.yaml:6:1: a second document begins here; a file holds one plan")
	f(load+"settings: &s {a: 1}\nset: *s\n",
		`p.yaml:5:11: "&": a plan has no anchors and aliases; write the value where it is meant; quote a text that begins with & or *`)
	f(load+"title: !!str x\n",
		`p.yaml:5:8: "!!str": a plan has no tags and directives; quote a text that begins with ! or %`)
	f(load+"? [a]\n: b\n", `p.yaml:5:1: a plan's keys are plain words; quote a text that begins with ?`)
	f(load+"title: "+strings.Repeat("[", 100)+"\n", "p.yaml:5:40: brackets are nested too deep")
	f("dyno_plan: 2\nnam: x\nfuture: {a: 1}\n", "p.yaml:1:12: dyno_plan: the plan is of form 2, this program reads "+
		"up to 1; use a newer dyno")
	f("dyno_plan: one\n", `p.yaml:1:12: dyno_plan: "one" is not a version of the plan's form; write dyno_plan: 1`)

	// all at once, in the order of the lines
	f("name: x y\nsever: mysql\ntrials: {tme: 5s, margin: 90%}\nthreads: many\n",
		"p.yaml:1:1: dyno_plan is missing; write dyno_plan: 1 in the first line",
		`p.yaml:1:7: name: "x y" is not a name; a name is made of letters, digits, "-" and "_", 64 at most`,
		`p.yaml:2:1: sever: unknown key "sever", did you mean "server"?`,
		`p.yaml:3:10: trials.tme: unknown key "tme", did you mean "time"?`,
		`p.yaml:3:27: trials.margin: 90% is out of range; write a percentage from 0.1% to 50%`,
		`p.yaml:4:10: threads: "many" is not a whole number`)

	// keys
	f(load+"threads: 1\nthreads: 2\n", "p.yaml:6:1: threads: is given twice, first in line 5")
	f(load+"settings: {a: 1, A: 2}\n", "p.yaml:5:18: settings.A: is given twice, first in line 5")
	f(load+"settings: {innodb-log file: 1}\n",
		`p.yaml:5:12: settings.innodb-log file: "innodb-log file" is not the name of a setting; write it as in my.cnf, such as innodb_buffer_pool_size`)
	f(load+"settings: [a]\n", "p.yaml:5:11: settings: takes a mapping (innodb_buffer_pool_size: 1G), not a list")
	f(load+"settings: {a: [1]}\n", "p.yaml:5:15: settings.a: takes a single value, not a list")
	f(load+"title: [a]\n", "p.yaml:5:8: title: takes a single value, not a list")
	f(load+"trials: 5\n", `p.yaml:5:9: trials: takes a mapping (key: value), not "5"`)

	// values
	f(load+"threads: 0\n", "p.yaml:5:10: threads: 0 is not from 1 to 10000")
	f(load+"trials: {time: 20}\n", `p.yaml:5:16: trials.time: "20" is not a duration; say in what: 20s, 20m`)
	f(load+"trials: {time: -5s}\n", `p.yaml:5:16: trials.time: "-5s" is negative`)
	f(load+"trials: {time: 0s}\n", `p.yaml:5:16: trials.time: 0s is too short; at least 1s`)
	f(load+"trials: {time: 9000h}\n", `p.yaml:5:16: trials.time: 9000h is too long`)
	f(load+"trials: {warmup: 20s..3s}\n", `p.yaml:5:18: trials.warmup: "20s..3s" ends below its beginning`)
	f(load+"trials: {rounds: 2..10}\n",
		`p.yaml:5:18: trials.rounds: 2 rounds are too few for a workload; an interval needs 3`)
	f(load+"trials: {rounds: 0}\n", `p.yaml:5:18: trials.rounds: 0 is not from 1 to 1000`)
	f(load+"trials: {rounds: 10..3}\n", `p.yaml:5:18: trials.rounds: "10..3" ends below its beginning`)
	f(load+"trials: {rounds: some}\n",
		`p.yaml:5:18: trials.rounds: "some" is not a whole number; write a number or a range, such as 5 or 5..10`)
	f(load+"trials: {margin: 2}\n",
		`p.yaml:5:18: trials.margin: 2 is out of range; write a percentage from 0.1% to 50%`)
	f(load+"trials: {confidence: 100%}\n",
		`p.yaml:5:22: trials.confidence: 100% is out of range; write a percentage from 50% to 99.99%`)
	f(load+"trials: {fresh: date}\n",
		`p.yaml:5:17: trials.fresh: "date" is not one of data, server, none, live, did you mean "data"?`)
	f(load+"trials: {settle: yes}\n", `p.yaml:5:18: trials.settle: "yes" is not true or false`)
	f(load+"trials: {seed: -1}\n", `p.yaml:5:16: trials.seed: "-1" is not a whole number from 0`)
	f(load+"limits: {memory: lots}\n",
		`p.yaml:5:18: limits.memory: "lots": no number; write a number and optionally K, M, G, T, P or E (powers of 1024), such as 64M or 1.5G`)
	f(load+"limits: {read_iops: 0}\n", `p.yaml:5:21: limits.read_iops: is 0; leave it out for no limit`)
	f(load+"limits: {cpu: -1}\n",
		`p.yaml:5:15: limits.cpu: -1 is out of range; write a number or a percentage of one, such as 0.97, 97% or 2, from 0.01 to 8192`)
	f(load+"limits: {cpu: .inf}\n",
		`p.yaml:5:15: limits.cpu: ".inf" is not a percentage; write a number or a percentage of one, such as 0.97, 97% or 2, from 0.01 to 8192`)
	f(load+"cpus: 3-1\n", `p.yaml:5:7: cpus: "3-1" names no CPUs; write it as taskset -c takes it: 0, 0-3, 0,2-3`)
	f(load+"placement: {server: a, client: \"1\"}\n",
		`p.yaml:5:21: placement.server: "a" is not a list of CPUs; write it as taskset -c takes it: 0, 0-3, 0,2-3`)
	f(load+"placement: {server: 0}\n",
		`p.yaml:5:13: placement: client is missing: name the CPUs of both, server and client`)
	f(load+"placement: spilt\n",
		`p.yaml:5:12: placement: "spilt" is not one of split, shared, free, did you mean "split"?`)
	f(load+"filesystem: ext3\n", `p.yaml:5:13: filesystem: "ext3" is not one of ext4, xfs, btrfs, did you mean "ext4"?`)
	f(load+"budget: 0s\n", "p.yaml:5:9: budget: 0s is too short; at least 1ns")
	const short = "; give it more, or make trials.time or trials.warmup shorter"
	f(load+"budget: 10s\n", "p.yaml:5:9: budget: 10s is too short for a single round: its 2 trials take 46s at least"+
		short)
	f(load+"budget: 1m\naxes: [{threads: [1, 2]}]\n", "p.yaml:5:9: budget: 1m is too short for a single round: its 3 "+
		"trials take 1m9s at least"+short)
	f(load+"budget: 1m\naxes: [{limit: cpu, values: [none, 50%]}]\n", "p.yaml:5:9: budget: 1m is too short for a "+
		"single round: its 3 trials take 1m10.2s at least"+short)
	f(load+"budget: 1m\nscale:\n  small:\n    budget: 10s\n    trials: {time: 2s, control: false, warmup: 9s..20s}\n",
		"p.yaml:8:13: budget: on scale small: 10s is too short for a single round: its 1 trials take 11s at least"+
			short)
	f(load+"before: [{sql: a, wait: b}]\n", "p.yaml:5:11: before[0]: a step is one of sql, wait and shell")
	f(load+"before: {sq: a}\n", `p.yaml:5:10: before.sq: unknown key "sq", did you mean "sql"?`)

	// servers, workloads, options
	f("dyno_plan: 1\nname: x\nserver: mysqll@9.7\nworkload: oltp_read_only\n",
		`p.yaml:3:9: server: unknown server "mysqll@9.7", did you mean "mysql@9.7"?`)
	f("dyno_plan: 1\nname: x\nserver: mysql@nine\nworkload: oltp_read_only\n",
		`p.yaml:3:9: server: "nine" is not a version; write it as far as it matters: mysql@9, mysql@9.7, mysql@9.7.4`)
	f("dyno_plan: 1\nname: x\nserver: postgres@17.1.2.3\nworkload: oltp_read_only\n",
		`p.yaml:3:9: server: "17.1.2.3" is not a version; write it as far as it matters: postgres@17, postgres@17.10`)
	f("dyno_plan: 1\nname: x\nserver: [postgres@16, postgres@17]\nworkload: oltp_read_only\n",
		"p.yaml:3:9: server: takes a single value, not a list; write servers: [a, b] to compare several")
	f("dyno_plan: 1\nname: x\nserver: sqlite\nworkload: oltp_read_only\n",
		`p.yaml:3:9: server: unknown server "sqlite"; there is mysql, mariadb, percona, postgres`)
	f("dyno_plan: 1\nname: x\nworkload: oltp_read_only\n",
		`p.yaml:1:1: no server is named; give it server: or servers:, such as mysql@9.7`)
	f(head+"workload: oltp_readonly\n",
		`p.yaml:4:11: workload: unknown workload "oltp_readonly", did you mean "oltp_read_only"?`)
	// the options are not wrong
	f(head+"workload: oltp_readonly\noptions: {tables: 1}\n",
		`p.yaml:4:11: workload: unknown workload "oltp_readonly", did you mean "oltp_read_only"?`)
	f(load+"options: {table-sizes: 5}\n",
		`p.yaml:5:11: options.table-sizes: unknown option "table-sizes" of oltp_read_only, did you mean "table-size"?`)
	f(load+"options: {table-size: few}\n",
		`p.yaml:5:23: options.table-size: option table-size=few: takes a whole number from 0, such as 10000 or 10K`)
	f(load+"options: {table-size: 0}\n", `p.yaml:5:23: options.table-size: option table-size=0: takes a number from 1`)
	f(load+"axes: [{option: tables, values: [1, x]}]\n",
		`p.yaml:5:37: axes[0].values[1]: option tables=x: takes a whole number from 0, such as 10000 or 10K`)
	f(head+"options: {tables: 1}\nread: {a: SELECT 1}\n",
		`p.yaml:4:11: options.tables: options belong to a workload, and the plan has none; name one with workload:`)

	// what a trial does
	f(head, "p.yaml:1:1: there is nothing to measure; add one of workload, probe and read")
	f(load+"probe: {name: a, sql: SELECT 1}\n", "p.yaml:5:9: probe: a trial runs a workload or probes, not both; "+
		"leave one of them out; data: {workload: …} gives probes tables")
	f(head+"probe: {name: a, sql: SELECT 1}\ntrials: {time: 5s}\n", "p.yaml:5:16: trials.time: only a workload has "+
		"it; a probe has not; leave it out")
	f(head+"probe: {sql: SELECT 1}\n", "p.yaml:4:9: probe: a probe has no name")
	f(head+"probe: [{name: a, sql: SELECT 1}, {name: a, sql: SELECT 2}]\n",
		"p.yaml:4:8: probe: two probes are called a")
	f(head+"probe: {name: a, sql: SELECT 1}\nthreads: 4\n", "p.yaml:5:10: threads: threads belongs to a workload, "+
		"and there is none; name one with workload:")
	f(head+"axes: [{name: a, levels: [{name: x, workload: oltp_read_only}, {name: y, probe: {name: p, sql: SELECT "+
		"1}}]}]\n",
		"p.yaml:1:1: variant a=y: it does a probe, others a workload: they cannot be compared; make two plans",
		"p.yaml:1:1: variant a=y: threads belongs to a workload, and there is none; name one with workload:")
	f(head+"read: {pool: SELECT 1}\npredict: {pol: x}\n",
		`p.yaml:5:11: predict: predict names "pol", which is not read, did you mean "pool"?`)

	// axes
	f(load+"axes: [{thread: [1]}]\n", `p.yaml:5:9: axes[0].thread: unknown key "thread", did you mean "threads"?`)
	f(load+"axes: {threads: [1]}\n", "p.yaml:5:8: axes: takes a list, not a mapping (key: value); write - threads: "+
		"[1, 2, 4], one axis a line")
	f(load+"axes:\n  - threads: []\n", "p.yaml:6:14: axes[0].threads: axis threads has no levels")
	f(load+"axes:\n  - threads: [1, 1]\n", "p.yaml:6:18: axes[0].threads[1]: level 1 of threads is given twice")
	f(load+"axes:\n  - threads: [1]\n  - threads: [2]\n", "p.yaml:7:5: axes[1]: two axes are called threads; give "+
		"one of them a name:")
	f(load+"axes:\n  - threads: [1]\n    collation: [latin1]\n", "p.yaml:7:5: axes[0].collation: the axis varies "+
		"threads already; make it a separate axis, or a general one with levels")
	f(load+"axes:\n  - setting: sync_binlog\n", "p.yaml:6:5: axes[0]: values of sync_binlog are missing; such as "+
		"values: [0, 1]")
	f(load+"axes:\n  - values: [1]\n", "p.yaml:6:13: axes[0].values: values without a name; say what they are values "+
		"of: setting, set, limit or option")
	f(load+"axes:\n  - name: a\n", "p.yaml:6:5: axes[0]: says nothing to vary; add levels: or one of server, "+
		"threads, setting, set, charset, collation, engine, page_size, limit, option, workload, filesystem, cpus")
	f(load+"axes:\n  - levels: [{name: x}]\n", "p.yaml:6:5: axes[0]: name is missing: an axis with levels needs one")
	f(load+"axes:\n  - {name: a, levels: [x]}\n",
		`p.yaml:6:24: axes[0].levels[0]: takes a mapping (key: value), not "x"; write - name: …, with what it sets below it`)
	f(load+"axes:\n  - {name: a, levels: [{threads: 2}]}\n", "p.yaml:6:25: axes[0].levels[0]: name is missing")
	f(load+"axes:\n  - {setting: init_connect, values: [\" a\"]}\n",
		`p.yaml:6:38: axes[0].values[0]: the level needs a name: " a" cannot be one; write {name: …, value: …}`)
	f(load+"axes:\n  - {name: \"a=b\", levels: [{name: \"c,d=e\"}]}\n",
		`p.yaml:6:12: axes[0]: "a=b" is not a name; an axis's name has no "," and "="`)
	f(load+"axes:\n  - page_size: [16k, 17k]\n",
		`p.yaml:6:22: axes[0].page_size[1]: "17k" is not a page size; there is 4k, 8k, 16k, 32k, 64k`)
	f(load+"axes:\n  - collation: [Latin 1]\n",
		`p.yaml:6:17: axes[0].collation[0]: "Latin 1" is not a character set or collation; such as latin1 or utf8mb4_0900_ai_ci`)
	f(load+"axes:\n  - {limit: cpus, values: [1]}\n",
		`p.yaml:6:13: axes[0].limit: "cpus" is not one of cpu, memory, read_iops, write_iops, read_bps, write_bps, did you mean "cpu"?`)
	f(load+"axes:\n  - {option: tables, values: [1-50]}\n",
		`p.yaml:6:31: axes[0].values[0]: option tables=1-50: takes a whole number from 0, such as 10000 or 10K`)
	f(load+"axes:\n  - threads: ["+list(1, 50)+"]\n  - {setting: sync_binlog, values: ["+list(0, 50)+"]}\n",
		"p.yaml:6:3: axes: the axes make more than 2000 variants; leave out levels")

	// names of axes and levels elsewhere
	axes := load + "axes:\n  - threads: [1, 2]\n  - collation: [latin1, utf8mb4_bin]\n"
	f(axes+"skip: [{thread: 1}]\n", `p.yaml:8:9: skip[0].thread: unknown axis "thread", did you mean "threads"?`)
	f(axes+"skip: {threads: 4}\n", `p.yaml:8:17: skip.threads: axis threads has no level "4"; there is 1, 2`)
	f(axes+"skip: [{}]\n", `p.yaml:8:8: skip: names no level`)
	f(axes+"baseline: {collation: latin}\n",
		`p.yaml:8:23: baseline.collation: axis collation has no level "latin", did you mean "latin1"?`)
	f(axes+"baseline: latin2\n", `p.yaml:8:11: baseline: no axis has a level "latin2", did you mean "latin1"?`)
	f(axes+"rows: [treads]\n", `p.yaml:8:8: rows[0]: unknown axis "treads", did you mean "threads"?`)
	f(axes+"rows: threads\ncolumns: threads\n",
		`p.yaml:8:7: rows: axis collation is not in the table; name it in rows or columns`,
		`p.yaml:9:10: columns: axis threads is in the table twice`)
	f(axes+"prices: {for: {collaton: latin1}, month: 1}\n",
		`p.yaml:8:16: prices.for.collaton: unknown axis "collaton", did you mean "collation"?`)
	f(axes+"prices: {for: {threads: 1}}\n", `p.yaml:8:10: prices: month is missing`)
	f(axes+"published: [{for: {collation: utf8mb4_bni}, text: a}]\n",
		`p.yaml:8:31: published[0].for.collation: axis collation has no level "utf8mb4_bni", did you mean "utf8mb4_bin"?`)
	f(axes+"published: [{lo: 2, hi: 1}]\n", `p.yaml:8:14: published[0]: text is missing`,
		`p.yaml:8:25: published[0].hi: is below lo`)
	f(axes+"show: [tps, p59_ms]\n", `p.yaml:8:13: show[1]: unknown value "p59_ms", did you mean "p50_ms"?`)
	const text = " is a text, and the first value is what is compared; put a number first, such as "
	f(head+"probe: {name: a, sql: SELECT 1}\nshow: [plan, rows_sent]\n", `p.yaml:5:8: show[0]: plan`+text+"rows_sent")
	f(head+"probe: {name: a, sql: SELECT 1}\nshow: filesort\n", `p.yaml:5:7: show: filesort`+text+"ms")
	f(head+"probe: [{name: a, sql: SELECT 1}, {name: b, sql: SELECT 1}]\nshow: [a.plan, b.plan]\n",
		`p.yaml:5:8: show[0]: a.plan`+text+"a.ms")
	for _, name := range []string{"pool_check", "pool_why"} {
		predicts := head + "read: {pool: SELECT 1}\npredict: {pool: buffer_pool_size}\nshow: [" + name + ", pool]\n"
		f(predicts+"trials: {rounds: 3, control: true}\n", `p.yaml:6:8: show[0]: `+name+text+"pool")
		f(predicts+"trials: {rounds: 3}\naxes: [{setting: a, values: [0, 1]}]\n",
			`p.yaml:6:8: show[0]: `+name+text+"pool")
	}
	f(axes+"skip: [{collation: latin1, threads: 2}]\n",
		`p.yaml:8:7: the baseline of threads=2,collation=utf8mb4_bin would be threads=2,collation=latin1, which is skipped; skip both or name another baseline`)
	f(axes+"skip: [{threads: 1}, {threads: 2}]\n", `p.yaml:8:7: skip leaves no variant`)

	// scales
	f(load+"scale: {tiny: {}}\n", `p.yaml:5:9: scale.tiny: unknown scale "tiny"; there is small, medium, full`)
	f(load+"scale:\n  small: {trials: {tme: 1s}}\n",
		`p.yaml:6:20: trials.tme: on scale small: unknown key "tme", did you mean "time"?`)
	f(load+"scale:\n  small: {axes: {threads: [1]}}\n",
		`p.yaml:6:18: scale.small.axes.threads: unknown axis "threads"; the plan has no axes`)
	f(load+"scale:\n  small: {name: y}\n",
		`p.yaml:6:11: scale.small.name: a scale cannot change "name"; it is the same on every scale`)
	f(load+"axes: [{threads: [1, 2]}]\nbaseline: 1\nscale:\n  small: {axes: {threads: [2, 4]}}\n",
		`p.yaml:6:11: baseline: on scale small: no axis has a level "1"; there is 2, 4`)
	f(load+"threads: x\nscale:\n  small: {budget: 1m}\n", `p.yaml:5:10: threads: "x" is not a whole number`)
}

func list(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(i))
	}
	return b.String()
}

func TestOptionProblems(t *testing.T) {
	text := load + "axes: [{threads: [1, 2]}, {name: how, levels: [{name: plain}, {name: fast, settings: {a: " +
		"1}}]}]\nscale: {small: {budget: 10m}}\n"
	f := func(o plan.Options, want ...string) {
		t.Helper()
		o.File = "p.yaml"
		_, err := parse([]byte(text), o)
		if err == nil {
			t.Errorf("%+v is accepted, want %q", o, want)
			return
		}
		if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
			t.Errorf("%+v says\n  %s\nwant\n  %s", o, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	set := func(path, value string) plan.Options { return plan.Options{Set: map[string]string{path: value}} }
	axis := func(name string, levels ...string) plan.Options {
		return plan.Options{Axes: map[string][]string{name: levels}}
	}
	f(plan.Options{Scale: "smal"}, `--scale: unknown scale "smal", did you mean "small"?`)
	f(plan.Options{Scale: "medium"}, `--scale: unknown scale "medium"; there is small`)
	f(set("trials.tme", "5s"), `--set trials.tme: unknown key "tme", did you mean "time"?`)
	f(set("trials.time", "5"), `--set trials.time: "5" is not a duration; say in what: 5s, 5m`)
	f(set("budget", "1s"),
		`--set budget: 1s is too short for a single round: its 5 trials take 1m55s at least; give it more, or make trials.time or trials.warmup shorter`)
	f(set("budget", "0s"), `--set budget: 0s is too short; at least 1ns`)
	f(set("threads", "8"), `--set threads: the axis threads sets it on every level; use --axis threads=VALUE,VALUE`)
	f(set("axes", "[]"), `--set axes: levels of axes are not set by path; use --axis NAME=VALUE,VALUE`)
	f(set("dyno_plan", "2"), `--set dyno_plan: dyno_plan cannot be set`)
	f(set("trials..time", "2"), `--set trials..time: "trials..time" is not the path of a value; such as trials.time=5s`)
	f(set("show", "[tps"), `--set show: "[tps": broken YAML: sequence end token ']' not found`)
	f(set("show", "[tsp]"), `--set show: show[0]: unknown value "tsp", did you mean "tps"?`)
	f(set("options.table_sizes", "5"),
		`--set options.table_sizes: options.table-sizes: unknown option "table-sizes" of oltp_read_only, did you mean "table-size"?`)
	f(set("nonsense", "5"), `--set nonsense: unknown key "nonsense"`)
	f(axis("thread", "1"), `--axis thread: unknown axis "thread", did you mean "threads"?`)
	f(axis("threads", "0"), `--axis threads: axes[0].threads[0]: 0 is not from 1 to 10000`)
	f(axis("threads"), `--axis threads: axes[0].threads: axis threads has no levels`)
	f(axis("how", "plain", "fats"), `--axis how: axis how has no level "fats", did you mean "fast"?`)
}

func TestOptions(t *testing.T) {
	text := load + `settings: {innodb-buffer-pool-size: 128M}
axes:
  - threads: [1, 2]
  - engine: [InnoDB, {value: RocksDB, settings: {plugin_load_add: ha_rocksdb}}]
published: [{for: {threads: 2}, text: a}]
scale:
  small: {axes: {threads: [4]}, trials: {time: 3s}}
`
	p := good(t, text, plan.Options{
		Scale: "small", Axes: map[string][]string{"engine": {"RocksDB"}},
		Set: map[string]string{
			"settings.innodb_buffer_pool_size": "1G", "trials.rounds": "3..4", "show": "[qps, tps]",
			"budget": "2m", "placement.server": "0", "placement.client": "1",
		},
	})
	vs := variants(t, p)
	if len(vs) != 1 || vs[0].Key != "threads=4,engine=RocksDB" {
		t.Fatalf("variants %+v", vs)
	}
	c := vs[0].Config
	if c.Settings["plugin_load_add"] != "ha_rocksdb" || c.Settings["innodb_buffer_pool_size"] != "1G" ||
		len(c.Settings) != 2 {
		t.Errorf("settings %v", c.Settings)
	}
	if c.Run.Options["mysql-storage-engine"] != "RocksDB" {
		t.Errorf("options %v", c.Run.Options)
	}
	if p.Trials.Time.String() != "3s" || p.Trials.Min != 3 || p.Trials.Max != 4 ||
		p.Budget.String() != "2m" || p.Scale != "small" {
		t.Errorf("trials %+v, budget %v, scale %q", p.Trials, p.Budget, p.Scale)
	}
	if !slices.Equal(p.Table.Show, []string{"qps", "tps"}) {
		t.Errorf("show %v", p.Table.Show)
	}
	if p.Placement != (plan.Placement{Mode: plan.Given, Server: "0", Client: "1"}) {
		t.Errorf("placement %+v", p.Placement)
	}
	if full := good(t, text, plan.Options{Scale: "full"}); len(full.Axes[0].Levels) != 2 {
		t.Errorf("the full scale, when it is not defined, is not the plan as written")
	}
}

// TestBaselineOfOtherLevels asks for other levels of an axis than the plan has: its baseline is not among them.
func TestBaselineOfOtherLevels(t *testing.T) {
	f := func(baseline, want string, levels ...string) {
		t.Helper()
		text := load + "axes:\n  - threads: [1, 2, 4]\n  - engine: [InnoDB, MyISAM]\nbaseline: " + baseline + "\n"
		p := good(t, text, plan.Options{Axes: map[string][]string{"threads": levels}})
		if p.Baseline["threads"] != want {
			t.Errorf("baseline %s with %v: %v", baseline, levels, p.Baseline)
		}
	}
	f("{threads: 1}", "4", "4", "8")
	f("{threads: 1}", "1", "8", "1")
	f("{threads: 2, engine: MyISAM}", "4", "4", "8")
	f("1", "4", "4", "8")
	f("1", "1", "8", "1")
	f("none", "", "4", "8")
	// What was published are ratios to the plan's own baseline; and a baseline that was asked for is not replaced.
	published := load + "axes:\n  - threads: [1, 2, 4]\nbaseline: {threads: 1}\npublished: [{text: a, lo: 1.1, hi: " +
		"1.2}]\n"
	for level, want := range map[string]float64{"1": 1.1, "8": 0} {
		p := good(t, published, plan.Options{Axes: map[string][]string{"threads": {level, "4"}}})
		if p.Published[0].Lo != want || p.Published[0].Text != "a" {
			t.Errorf("published with %s: %+v", level, p.Published)
		}
	}
	for _, path := range []string{"baseline.threads", "baseline"} {
		o := plan.Options{Axes: map[string][]string{"threads": {"4", "8"}}, Set: map[string]string{path: "2"}}
		if _, err := parse([]byte(published), o); err == nil || !strings.Contains(err.Error(), `has`) ||
			!strings.Contains(err.Error(), `level "2"`) {
			t.Errorf("--set %s=2: %v", path, err)
		}
	}
	// A level that the plan never had is a mistake still.
	wrong := load + "axes:\n  - threads: [1, 2]\nbaseline: {threads: 3}\n"
	if _, err := parse([]byte(wrong), plan.Options{Axes: map[string][]string{"threads": {"4"}}}); err == nil ||
		!strings.Contains(err.Error(), `axis threads has no level "3"`) {
		t.Errorf("a baseline that never was: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	p := good(t, load, plan.Options{})
	want := plan.Trials{
		Time: plan.Duration(20 * time.Second), WarmMin: plan.Duration(3 * time.Second),
		WarmMax: plan.Duration(20 * time.Second),
		Min:     5, Max: 10, Margin: 0.02, Conf: 0.95, Seed: 1, Fresh: plan.FreshServer,
	}
	if p.Trials != want {
		t.Errorf("trials of a load that reads: %+v, want %+v", p.Trials, want)
	}
	if p.Placement.Mode != plan.Split || p.Database != "lab" || p.Base.Run.Threads != 1 ||
		!slices.Equal(p.Table.Show, []string{"tps", "p95_ms"}) {
		t.Errorf("%+v", p)
	}
	if p := good(t, head+"workload: oltp_read_write\n", plan.Options{}); p.Trials.Fresh != plan.FreshData {
		t.Errorf("a load that writes begins with %s", p.Trials.Fresh)
	}
	if p := good(t, head+"workload: oltp_read_write\ntrials: {fresh: none}\n",
		plan.Options{}); p.Trials.Fresh != plan.FreshNone {
		t.Errorf("what was said is not what holds: %s", p.Trials.Fresh)
	}
	p = good(t, head+"probe: {name: a, sql: SELECT 1}\n", plan.Options{})
	want = plan.Trials{Min: 3, Max: 3, Margin: 0.02, Conf: 0.95, Seed: 1, Fresh: plan.FreshNone}
	if p.Trials != want || !slices.Equal(p.Table.Show, []string{"ms", "rows_read"}) {
		t.Errorf("probe: %+v, show %v", p.Trials, p.Table.Show)
	}
	p = good(t, head+"probe: [{name: a, sql: SELECT 1}, {name: b, sql: SELECT 1}]\n", plan.Options{})
	if !slices.Equal(p.Table.Show, []string{"a.ms", "a.rows_read", "b.ms", "b.rows_read"}) {
		t.Errorf("two probes: show %v", p.Table.Show)
	}
	p = good(t, head+"read: {b: SELECT 1, a: SELECT 1}\n", plan.Options{})
	if p.Trials.Min != 1 || p.Trials.Max != 1 || !p.Trials.NoControl ||
		!slices.Equal(p.Table.Show, []string{"a", "b"}) {
		t.Errorf("read: %+v, show %v", p.Trials, p.Table.Show)
	}
	if p := good(t, head+"read: {a: SELECT 1}\ntrials: {control: true}\n", plan.Options{}); p.Trials.NoControl {
		t.Error("the control that was asked for is left out")
	}
}

// TestFreshOfSteps gives what a trial begins with where variants differ in their steps, and where the plan says it.
func TestFreshOfSteps(t *testing.T) {
	f := func(text string, want plan.Fresh) {
		t.Helper()
		if got := good(t, text, plan.Options{}).Trials.Fresh; got != want {
			t.Errorf("%s\nbegins with %s, want %s", text, got, want)
		}
	}
	const probe = head + "probe: {name: a, sql: SELECT 1}\n"
	const read = head + "read: {a: SELECT 1}\n"
	step := func(which, what string) string {
		return "axes: [{name: how, levels: [{name: plain}, {name: changed, " + which + ": {" + what + "}}]}]\n"
	}
	for _, which := range []string{"before", "after"} {
		for _, what := range []string{"sql: UPDATE t SET a = 1", "shell: 'echo a'"} {
			f(load+step(which, what), plan.FreshData)
			f(probe+step(which, what), plan.FreshData)
			f(read+step(which, what), plan.FreshData)
		}
	}
	f(load+"axes: [{name: how, levels: [{name: a, before: {sql: A}}, {name: b, before: {sql: B}}]}]\n", plan.FreshData)
	f(load+"axes: [{limit: cpu, values: [none, 50%]}, {name: how, levels: [{name: a}, {name: b, before: {sql: B}}]}]\n",
		plan.FreshData)
	for _, fresh := range []plan.Fresh{plan.FreshServer, plan.FreshNone, plan.FreshLive} {
		// who says it knows what the steps do
		f(load+step("before", "sql: A")+"trials: {fresh: "+string(fresh)+"}\n", fresh)
	}
	f(load+"before: {sql: A}\naxes: [{threads: [1, 2]}]\n", plan.FreshServer) // the same for all
	f(probe+"before: {sql: A}\naxes: [{setting: a, values: [0, 1]}]\n", plan.FreshNone)
}

// TestShowOfTexts gives plans whose first value is a text, and may be: nothing is compared, or what is called like a
// text of a probe is read.
func TestShowOfTexts(t *testing.T) {
	predicts := head + "read: {pool: SELECT 1}\npredict: {pool: buffer_pool_size}\nshow: [pool_check, pool]\n"
	for _, text := range []string{
		predicts,
		predicts + "axes: [{setting: a, values: [0, 1]}]\n",
		predicts + "trials: {rounds: 3}\n",
		head + "probe: {name: a, sql: SELECT 1}\nshow: [plan, ms]\ntrials: {control: false}\n",
		head + "probe: {name: a, sql: SELECT 1}\nread: {plan: SELECT 1}\nshow: [plan, ms]\n",
	} {
		good(t, text, plan.Options{})
	}
}

// TestBudgetOfOneRound gives budgets in which a round just fits, and plans whose trials take as long as their SQL does.
func TestBudgetOfOneRound(t *testing.T) {
	good(t, load+"budget: 46s\n", plan.Options{})
	good(t, load+"budget: 23s\ntrials: {control: false}\n", plan.Options{})
	good(t, load+"budget: 4s\ntrials: {time: 1s, warmup: 1s..9s}\n", plan.Options{})
	good(t, head+"budget: 1s\nprobe: {name: a, sql: SELECT 1}\n", plan.Options{})
}

func TestBaseline(t *testing.T) {
	axes := load + "axes: [{threads: [1, 2]}, {collation: [latin1, utf8mb4_bin]}, {setting: sync_binlog, values: [0, " +
		"1]}]\n"
	f := func(text, variant, want string) {
		t.Helper()
		for _, v := range variants(t, good(t, text, plan.Options{})) {
			if v.Key == variant {
				if v.Baseline != want {
					t.Errorf("%s\nbaseline of %s is %s, want %s", text, v.Key, v.Baseline, want)
				}
				return
			}
		}
		t.Errorf("%s\nhas no variant %s", text, variant)
	}
	last := "threads=2,collation=utf8mb4_bin,sync_binlog=1"
	f(axes, last, "threads=2,collation=latin1,sync_binlog=0")
	f(axes+"columns: collation\n", last, "threads=2,collation=latin1,sync_binlog=1")
	f(axes+"rows: [threads, collation, sync_binlog]\n", last, "threads=2,collation=utf8mb4_bin,sync_binlog=0")
	f(axes+"baseline: {threads: 1}\n", last, "threads=1,collation=utf8mb4_bin,sync_binlog=1")
	f(axes+"baseline: utf8mb4_bin\n", "threads=2,collation=latin1,sync_binlog=1", last)
	f(axes+"baseline: none\n", last, last)
	f(load+"axes: [{threads: [4, 8]}]\n", "threads=8", "threads=4")
	f(load, "base", "base")
}

// TestAxes gives short axes and what a level of each sets.
func TestAxes(t *testing.T) {
	f := func(axis, name, level string, numeric float64, want plan.Config) {
		t.Helper()
		p := good(t, head+"workload: oltp_read_only\naxes:\n  - "+axis+"\n", plan.Options{})
		a := p.Axes[0]
		i := slices.IndexFunc(a.Levels, func(l plan.Level) bool { return l.Name == level })
		if a.Name != name || i < 0 {
			t.Errorf("%s: axis %s, levels %+v", axis, a.Name, a.Levels)
			return
		}
		if got := a.Levels[i]; got.Numeric != numeric || a.Numeric != (numeric != 0) {
			t.Errorf("%s: numeric %v %v, want %v", axis, a.Numeric, got.Numeric, numeric)
		}
		same(t, axis, a.Levels[i].Config, want)
	}
	options := func(name, value string) plan.Config {
		return plan.Config{Run: plan.Run{Options: map[string]string{name: value}}}
	}
	f("server: [mysql@9.7, mariadb]", "server", "mysql@9.7", 0, plan.Config{Server: "mysql@9.7"})
	f("threads: [1, 16]", "threads", "16", 16, plan.Config{Run: plan.Run{Threads: 16}})
	f("{setting: innodb-log-file-size, values: [128M, 1G]}", "innodb_log_file_size", "1G", 1<<30,
		plan.Config{Settings: map[string]string{"innodb_log_file_size": "1G"}})
	f("{setting: binlog_format, values: [ROW, 1]}", "binlog_format", "1", 0,
		plan.Config{Settings: map[string]string{"binlog_format": "1"}})
	f("{set: long_query_time, values: [0.5], name: slow}", "slow", "0.5", 0.5,
		plan.Config{Set: map[string]string{"long_query_time": "0.5"}})
	f("charset: [latin1, utf8mb4]", "charset", "latin1", 0, plan.Config{TableOptions: []string{"CHARACTER SET latin1"}})
	f("charset: [binary]", "charset", "binary", 0, plan.Config{TableOptions: []string{"CHARACTER SET binary"}})
	f("collation: [utf8mb4_0900_ai_ci]", "collation", "utf8mb4_0900_ai_ci", 0,
		plan.Config{TableOptions: []string{"CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"}})
	f("engine: [MyISAM]", "engine", "MyISAM", 0, options("mysql-storage-engine", "MyISAM"))
	f("{page_size: [16k, 64k]}", "page_size", "64k", 65536,
		plan.Config{Settings: map[string]string{"innodb_page_size": "65536"}})
	f("{limit: cpu, values: [100%, 97%]}", "cpu", "97%", 0.97, plan.Config{Limits: limit.Limits{CPU: 0.97}})
	f("{limit: write_bps, values: [none, 8M]}", "write_bps", "8M", 0,
		plan.Config{Limits: limit.Limits{WriteBPS: 8 << 20}})
	f("{limit: write_bps, values: [none, 8M]}", "write_bps", "none", 0, plan.Config{})
	f("{option: table_size, values: [1000]}", "table-size", "1000", 1000, options("table-size", "1000"))
	f("workload: [oltp_point_select]", "workload", "oltp_point_select", 0,
		plan.Config{Run: plan.Run{Workload: "oltp_point_select"}})
	f("filesystem: [xfs]", "filesystem", "xfs", 0, plan.Config{Filesystem: "xfs"})
	f(`cpus: [{name: two, value: "0,1"}]`, "cpus", "two", 0, plan.Config{CPUs: "0,1"})
	f("{name: log, levels: [{name: big, settings: {a: 1}, threads: 4}]}", "log", "big", 0,
		plan.Config{Settings: map[string]string{"a": "1"}, Run: plan.Run{Threads: 4}})
}

// TestTableOptions shows that a charset is added to what the plan says of its tables, whoever prepares them.
func TestTableOptions(t *testing.T) {
	f := func(text, run, data string) {
		t.Helper()
		c := variants(t, good(t, text+"axes: [{charset: [latin1]}]\n", plan.Options{}))[0].Config
		const name = "create-table-options"
		if c.Run.Options[name] != run || c.Data.Options[name] != data || len(c.TableOptions) != 0 {
			t.Errorf("%s: run %q, data %q, left %q", text, c.Run.Options[name], c.Data.Options[name], c.TableOptions)
		}
		_, prepared := c.Prepared()
		if got := prepared[name]; !strings.HasSuffix(got, "CHARACTER SET latin1") {
			t.Errorf("%s: tables are made with %q", text, got)
		}
	}
	f(load, "CHARACTER SET latin1", "")
	f(load+"options: {create-table-options: ROW_FORMAT=DYNAMIC}\n", "ROW_FORMAT=DYNAMIC CHARACTER SET latin1", "")
	f(load+"table_options: ROW_FORMAT=DYNAMIC\n", "ROW_FORMAT=DYNAMIC CHARACTER SET latin1", "")
	f(load+"data: {options: {create_table_options: A}}\n", "", "A CHARACTER SET latin1")
	f(head+"data: {workload: oltp_read_only}\nprobe: {name: a, sql: SELECT 1}\n", "CHARACTER SET latin1", "")
}

// TestWorkloadsGiven shows that the caller's workloads are those that there are.
func TestWorkloadsGiven(t *testing.T) {
	_, err := parse([]byte(load), plan.Options{Workloads: []workload.Workload{workload.PointSelect{}}})
	if err == nil || !strings.Contains(err.Error(), `unknown workload "oltp_read_only"; there is oltp_point_select`) {
		t.Errorf("%v", err)
	}
}

// TestShowKnowsAllMetrics holds the names that show takes to those of package trial.
func TestShowKnowsAllMetrics(t *testing.T) {
	for _, m := range trial.Metrics() {
		if _, err := parse([]byte(load+"show: "+m.Name+"\n"), plan.Options{}); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// TestParseIsPure shows that neither maps nor the text's line ends decide what comes out.
func TestParseIsPure(t *testing.T) {
	first := good(t, everything, plan.Options{})
	for range 20 {
		same(t, "everything", good(t, everything, plan.Options{}), first)
	}
	same(t, "CRLF", good(t, strings.ReplaceAll(everything, "\n", "\r\n"), plan.Options{}), first)
	same(t, "BOM", good(t, "\ufeff"+everything, plan.Options{}), first)
}

func FuzzParse(f *testing.F) {
	f.Add(everything, "trials.time", "5s", "threads", "1,2")
	f.Add(load, "settings.a", "{b: 1}", "server", "")
	f.Add("a: &a [*a, *a]", "", "", "", "")
	f.Add(head+"axes: [{name: a, levels: [{name: x}, {name: y}]}]", "axes.0", "[", "a", "y")
	for _, name := range []string{"versions", "charset", "cpu-quota", "probes"} {
		text, err := os.ReadFile("testdata/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "placement", "shared", "flush", "1")
	}
	f.Fuzz(func(t *testing.T, text, path, value, axis, levels string) {
		for _, o := range []plan.Options{{}, {
			Scale: "small", Set: map[string]string{path: value},
			Axes: map[string][]string{axis: strings.Split(levels, ",")},
		}} {
			p, err := parse([]byte(text), o)
			if err != nil {
				var ps *plan.Problems
				if !errors.As(err, &ps) || len(ps.List) == 0 || strings.Count(err.Error(), "\n") > 20*len(ps.List) {
					t.Fatalf("%T %v", err, err)
				}
				for _, one := range ps.List {
					if one.Text == "" || one.Line < 0 || one.Line > strings.Count(text, "\n")+
						strings.Count(text, "\r")+2 {
						t.Fatalf("%+v", one)
					}
				}
				continue
			}
			vs, err := p.Variants()
			if err != nil || len(vs) == 0 || len(vs) > plan.MaxVariants {
				t.Fatalf("a plan without problems has %d variants: %v", len(vs), err)
			}
			hash := p.Hash()
			if again := p.Hash(); again != hash || !utf8.ValidString(vs[0].Key) {
				t.Fatal("hash or key")
			}
			if least, most := plan.Estimate(p, time.Second); least <= 0 || most < least {
				t.Fatalf("%v to %v", least, most)
			}
		}
	})
}
