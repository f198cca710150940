package cli

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/demo"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/userfile"
)

func newDemoCommand(e *env) *cobra.Command {
	var o demo.Options
	var all demo.AllOptions
	var list, every bool
	var set []string
	var resume string
	c := &cobra.Command{
		Use:   "demo [FAULT]",
		Short: "plant a real fault on a private server, find it, fix it, prove it",
		Long: `Starts a private server, plants a fault on it (default missing-index), loads it, and runs the diagnosis from outside.
Then it applies the cure while the load continues, and proves the gain by switching the cure on and off in turn. Takes
two to three minutes and writes a report. Nothing else on the machine is touched, and the private server is removed
afterwards.

Two faults joined by a plus are planted together: both must then be found. With --all every fault is planted, one after
the other, with a line for each: whether it was found and at which rank, false findings, the measured gain.`,
		Example: "  dyno demo\n  dyno demo missing-index --server mysql@9.7\n  dyno demo index-order+small-redo " +
			"--no-cure\n  dyno demo --all --server mariadb,mysql@9.7 --seeds 3 --output json\n  dyno demo --list",
		Args: args(0, 1),
	}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "list the faults that can be planted")
	f.BoolVar(&every, "all", false, "plant every fault, one after the other, under random names, and report for each "+
		"whether it was found")
	f.StringSliceVar(&all.Only, "only", nil, "with --all: only these faults, separated by commas")
	f.IntVar(&all.Seeds, "seeds", 1, "with --all: number of seeds, starting at --seed or 1")
	f.BoolVar(&all.Pairs, "together", false, "with --all: also plant ten pairs of faults together")
	f.StringVar(&resume, "resume", "",
		"with --all: skip the runs that this file, written by --output json, already has")
	f.StringVar(&o.Server, "server", "mariadb", "server build: mariadb, mysql@9.7, …; with --all several, separated "+
		"by commas; dyno sandbox servers lists them")
	f.StringArrayVar(&set, "set", nil, "a server setting as in my.cnf or postgresql.conf, KEY=VALUE; may be "+
		"repeated")
	f.StringArrayVar(&o.ServerDirs, "server-dir", nil, "also look for server builds here; may be repeated")
	f.BoolVar(&o.Keep, "keep", false, "leave the private server running afterwards")
	f.BoolVar(&o.NoCure, "no-cure", false, "stop after the finding")
	f.BoolVar(&o.RandomNames, "random-names", false, "plant it under random schema, table and column names")
	f.Uint64Var(&o.Seed, "seed", 0, "random seed; 0 picks one and reports it")
	f.StringVar(&o.Snapshot, "save-snapshot", "", "write the snapshot of the diagnosis to this file, for dyno "+
		"diagnose --from; gzip if it ends in .gz")
	f.IntVar(&o.Pairs, "pairs", 0, "pairs of windows for the proof (6)")
	c.RunE = func(c *cobra.Command, a []string) error {
		if list {
			return listDemos(e)
		}
		if every {
			if len(a) > 0 || o.Keep || o.Snapshot != "" || len(set) > 0 || o.Pairs != 0 {
				return usagef("--all plants every fault unchanged: it takes no FAULT, --keep, --set, --pairs or " +
					"--save-snapshot; --only selects faults")
			}
			all.Servers, all.ServerDirs, all.NoCure, all.First = strings.Split(o.Server, ","),
				o.ServerDirs, o.NoCure, int(o.Seed)
			return demoAll(e, c, all, resume)
		}
		if resume != "" || all.Pairs || len(all.Only) > 0 || all.Seeds != 1 {
			return usagef("--only, --seeds, --together and --resume need --all")
		}
		o.Fault = "missing-index"
		if len(a) == 1 {
			o.Fault = a[0]
		}
		if err := plantable(strings.Split(o.Fault, "+")); err != nil {
			return err
		}
		if o.Pairs != 0 && (o.Pairs < 3 || o.Pairs > 100) {
			return usagef("--pairs %d: it takes 3 to 100, or 0 for the default", o.Pairs)
		}
		if o.Snapshot != "" {
			if err := userfile.Check(o.Snapshot); err != nil {
				return fmt.Errorf("save snapshot: %w", err)
			}
		}
		if o.Seed == 0 {
			o.Seed = uint64(rand.Uint32()) + 1
		}
		var err error
		if o.Settings, err = settings(set); err != nil {
			return err
		}
		v := &voice{env: e, began: time.Now()}
		o.Voice = v
		res, err := demo.Run(c.Context(), e.app, o)
		if res.Report != "" || err == nil {
			demoEnd(e, res)
		}
		if err != nil && o.Keep && res.Sandbox != "" {
			e.remark("The private server is kept: sandbox:%s", res.Sandbox)
		}
		return err
	}
	return c
}

// plantable checks names of faults, of which each can be planted once.
func plantable(names []string) error {
	for i, n := range names {
		if _, err := app.FindFault(n); err != nil {
			said := err.Error()
			if !strings.HasSuffix(said, "?") {
				said += ";"
			}
			return usagef("%s `dyno demo --list` lists the faults", said)
		}
		if slices.Contains(names[:i], n) {
			return usagef("the fault %s is named twice: two that are planted together must differ", n)
		}
	}
	return nil
}

// settings reads KEY=VALUE arguments.
func settings(set []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range set {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usagef("--set %s: it takes KEY=VALUE, a setting of the server and what it is set to", kv)
		}
		m[strings.ReplaceAll(k, "-", "_")] = v
	}
	return m, nil
}

// voice tells a demo as it happens.
type voice struct {
	*env
	began time.Time
	lives int
}

func (v *voice) Say(s report.Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearLine()
	v.lives = 0
	switch {
	case v.json():
		_ = v.writeJSON(struct {
			Message string    `json:"message"`
			At      time.Time `json:"at"`
			Text    string    `json:"text"`
		}{"step", s.At.UTC(), s.Text})
	case !v.quiet:
		lead := fmt.Sprintf("%5s  ", clock(s.At.Sub(v.began)))
		fmt.Fprintln(v.Out, v.bold(lead+wrap(s.Text, v.width()-len(lead)-1, strings.Repeat(" ", len(lead)))))
	}
}

func (v *voice) Live(l demo.Live) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.json():
		m := map[string]any{
			"message": "tick", "at": l.At.UTC(), "second": l.Second, "tps": l.TPS,
			"p95_ms": float64(l.P95) / 1e6,
		}
		if x, ok := l.CPU.Get(); ok {
			m["server_cpu_cores"] = x
		}
		if x, ok := l.RowsRead.Get(); ok {
			m["rows_read_per_s"] = x
		}
		if l.Note != "" {
			m["variant"] = l.Note
		}
		_ = v.writeJSON(m)
	case !v.quiet:
		v.clearLine()
		cpu, rows := "      ?", "          ?"
		if x, ok := l.CPU.Get(); ok {
			cpu = fmt.Sprintf("%7.2f", x)
		}
		if x, ok := l.RowsRead.Get(); ok {
			rows = fmt.Sprintf("%11s", unit.Count(x))
		}
		if v.lives%20 == 0 {
			fmt.Fprintln(v.Out, v.dim("           ops/s           p95   CPU cores   rows read/s"))
		}
		v.lives++
		fmt.Fprintln(v.Out, v.dim(fmt.Sprintf("       %9s %13s     %s   %s  %s", unit.Count(l.TPS),
			unit.Duration(l.P95), cpu, rows, l.Note)))
	}
}

// Progress draws the long steps of a demo.
func (v *voice) Progress() progress.Sink { return v.progress() }

func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// wrap breaks text at spaces so that no line is longer than width where that is possible.
func wrap(s string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(s) {
		l := len([]rune(w))
		switch {
		case i == 0:
		case n+1+l > width:
			b.WriteString("\n" + indent)
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += l
	}
	return b.String()
}

// side is one side of a demo in JSON.
type side struct {
	QPS      *float64 `json:"qps"`
	P95      *float64 `json:"p95_ms"`
	CPU      *float64 `json:"server_cpu_cores"`
	RowsRead *float64 `json:"rows_read_per_s"`
}

func sideOf(m map[string]stat.Interval) *side {
	if m == nil {
		return nil
	}
	get := func(name string) *float64 {
		if v, ok := m[name]; ok {
			return &v.Center
		}
		return nil
	}
	return &side{get("qps"), get("p95_ms"), get("server_cpu_cores"), get("rows_read_per_s")}
}

// demoEnd prints the outcome: the report as text, or the closing JSON object.
func demoEnd(e *env, res demo.Result) {
	if e.json() {
		findings, foreign := res.Findings, res.Foreign
		if findings == nil {
			findings = []finding.Finding{}
		}
		if foreign == nil {
			foreign = []finding.Finding{}
		}
		out := struct {
			Message   string                 `json:"message"`
			Fault     string                 `json:"fault"`
			Server    string                 `json:"server"`
			Sandbox   string                 `json:"sandbox,omitempty"`
			Found     bool                   `json:"found"`
			Findings  []finding.Finding      `json:"findings"`
			Foreign   []finding.Finding      `json:"foreign"`
			Before    *side                  `json:"before,omitempty"`
			After     *side                  `json:"after,omitempty"`
			Intervals map[string]beforeAfter `json:"intervals,omitempty"`
			Verdict   *stat.Verdict          `json:"verdict,omitempty"`
			Control   *stat.Verdict          `json:"control,omitempty"`
			Action    string                 `json:"action,omitempty"`
			Report    string                 `json:"report"`
			FirstLive float64                `json:"first_live_s"`
			ToFinding float64                `json:"finding_s"`
		}{
			"demo", res.Fault, res.Server.Spec(), res.Sandbox, res.Found, findings, foreign,
			sideOf(res.Before), sideOf(res.After),
			intervals(res), res.Verdict, res.Control, res.Action.ID, res.Report, res.FirstLive.Seconds(),
			res.ToFinding.Seconds(),
		}
		_ = e.writeJSON(out)
		return
	}
	fmt.Fprintln(e.Out)
	doc := res.Document
	doc.Story = nil // it was told as it happened
	doc.Findings = slices.Clone(doc.Findings)
	for i := range doc.Findings {
		doc.Findings[i].Why = nil // the page has it
	}
	_ = report.Text(raw(e.Out), &doc, report.Options{Width: e.width(), Color: e.color()})
	fmt.Fprintf(e.Out, "\nReport: %s\n", res.Report)
	if res.Sandbox != "" {
		fmt.Fprintf(e.Out,
			"The private server is kept: sandbox:%s (`dyno sandbox sh %[1]s`, `dyno sandbox rm %[1]s`)\n", res.Sandbox)
	}
}

type beforeAfter struct {
	Before stat.Interval `json:"before"`
	After  stat.Interval `json:"after"`
}

func intervals(res demo.Result) map[string]beforeAfter {
	if res.Before == nil {
		return nil
	}
	m := map[string]beforeAfter{}
	for k, b := range res.Before {
		if a, ok := res.After[k]; ok {
			m[k] = beforeAfter{b, a}
		}
	}
	return m
}
