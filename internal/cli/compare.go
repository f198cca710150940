package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/userfile"
)

// compareFlags are those of compare and of recipe run.
type compareFlags struct {
	o      lab.CompareOptions
	axes   []string
	set    []string
	dryRun bool
	failOn string
	bundle string
}

func (x *compareFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&x.dryRun, "dry-run", false, "show the runs, their time and resources, and run nothing")
	f.StringArrayVar(&x.axes, "axis", nil, "replace the values of an axis of the plan, NAME=VALUE,VALUE…; may be "+
		"repeated")
	f.StringArrayVar(&x.set, "set", nil, "replace a value in the plan, such as trials.time=5s or "+
		"settings.NAME=1G; may be repeated")
	f.StringVar(&x.o.Resume, "resume", "", "continue this experiment (x-…) with its original plan and options")
	f.StringArrayVar(&x.o.ServerDirs, "server-dir", nil, "also look for server builds here; may be repeated")
	f.BoolVar(&x.o.Install, "install", false, "download the server builds that are missing on this machine")
	f.BoolVar(&x.o.DropData, "drop-data", false, "remove the data sets at the end; by default they are kept for the "+
		"next run")
	f.StringVar(&x.failOn, "fail-on", "", `"worse": exit with code 5 if any comparison is worse`)
	f.StringVar(&x.bundle, "bundle", "", "also write plan, environment, trials and result to this file (.tar.gz), to "+
		"repeat or compare elsewhere")
}

// settle reads the flags that are lists.
func (x *compareFlags) settle() error {
	x.o.Axes, x.o.Set = map[string][]string{}, map[string]string{}
	for _, a := range x.axes {
		k, v, ok := strings.Cut(a, "=")
		if !ok || k == "" || v == "" {
			return usagef("--axis %s: it takes NAME=VALUE,VALUE…, such as threads=1,2,4", a)
		}
		x.o.Axes[k] = strings.Split(v, ",")
	}
	for _, s := range x.set {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return usagef("--set %s: it takes PATH=VALUE, such as trials.time=5s", s)
		}
		x.o.Set[k] = v
	}
	if x.failOn != "" && x.failOn != string(stat.Worse) {
		return usagef("--fail-on %s: it takes worse", x.failOn)
	}
	return nil
}

func newCompareCommand(e *env) *cobra.Command {
	x := &compareFlags{}
	var schema, list bool
	var bundleOf string
	c := &cobra.Command{
		Use:   "compare PLAN.yaml | A.json B.json | BUNDLE.tar.gz",
		Short: "is B better than A, by how much, and is it statistically significant?",
		Long: `Runs the experiment that a plan describes on private servers: every variant in random order, round after round,
with the baseline against itself in each round, until every comparison is decided and closed at a planned interim
analysis, or the rounds or the budget are used up. Prints a table with intervals, n and verdicts: better, worse, same, unstable
or invalid.

With two results (the JSON of --output json or of a report, or a bundle) it compares them, for runs made on different
machines. With one bundle it runs the bundle's plan here and compares the two results.

--resume ID continues a run that was stopped; at most the current trial (or round of turns) is repeated.`,
		Example: "  dyno compare plan.yaml --dry-run\n  dyno compare plan.yaml --axis threads=1,8 --set " +
			"trials.time=5s\n  dyno compare here.json there.json",
		Args: args(0, 2),
	}
	x.add(c)
	c.Flags().StringVar(&x.o.Scale, "scale", "", "scale of a plan that has several: small, medium or full")
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of plans")
	c.Flags().BoolVar(&list, "list", false, "list the experiments started here")
	c.Flags().StringVar(&bundleOf, "bundle-of", "", "write the bundle of this experiment (x-…) to --bundle FILE and "+
		"run nothing")
	c.RunE = func(c *cobra.Command, a []string) error {
		if err := x.settle(); err != nil {
			return err
		}
		switch {
		case (schema || list || bundleOf != "") && len(a) > 0:
			return usagef("compare: --schema, --list and --bundle-of run nothing and take no plan")
		case schema:
			_, err := e.Out.Write(append(plan.Schema(lab.PlanWords()), '\n'))
			return err
		case list:
			return listExperiments(e)
		case bundleOf != "":
			if x.bundle == "" {
				return usagef("--bundle-of needs --bundle FILE")
			}
			return writeBundle(e, bundleOf, x.bundle)
		case len(a) == 2:
			return x.sideBySide(c.Context(), e, a[0], a[1])
		case len(a) == 0 && x.o.Resume == "":
			return usagef("compare: a plan is missing; usage: %s", c.UseLine())
		}
		if len(a) == 1 && isBundle(a[0]) {
			return x.again(c.Context(), e, a[0])
		}
		if len(a) == 1 {
			b, err := os.ReadFile(a[0])
			if err != nil {
				return fmt.Errorf("read plan: %w", err)
			}
			if strings.HasPrefix(strings.TrimSpace(string(b[:min(len(b), 200)])), "{") &&
				strings.Contains(string(b), `"dyno_re`) {
				return usagef("%s is a result, not a plan: give a second result to compare it with; `dyno report ID` "+
					"shows a single one", a[0])
			}
			x.o.Text, x.o.File = b, a[0]
		}
		_, err := x.run(c.Context(), e)
		return err
	}
	return c
}

func isBundle(name string) bool {
	return strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".tgz")
}

// listExperiments lists what was begun.
func listExperiments(e *env) error {
	all, err := lab.Experiments(e.app)
	if err != nil {
		return err
	}
	return listed(e, fmt.Sprintf("%-10s  %-16s  %-18s %11s  %s", "ID", "STARTED", "NAME", "TRIALS", "RESULT"), all,
		func(l lab.ExperimentLine) string {
			state := "unfinished"
			switch {
			case l.Problem != "":
				state = l.Problem
			case l.Complete:
				state = l.Sentence
			}
			return fmt.Sprintf("%-10s  %s  %-18s %4d trials  %s", l.ID, l.Started.Local().Format("2006-01-02 15:04"),
				l.Name, l.Trials, state)
		}, "No experiments yet. `dyno compare PLAN.yaml` starts one.")
}

// planProblems prints everything that is wrong with a plan, one a line.
func planProblems(e *env, err error) error {
	var p *plan.Problems
	if !errors.As(err, &p) {
		return err
	}
	if e.json() {
		_ = e.writeJSON(struct {
			Message  string `json:"message"`
			Problems any    `json:"problems"`
		}{"problems", p})
	} else {
		e.mu.Lock()
		e.clearLine()
		for _, l := range strings.Split(strings.TrimRight(p.Error(), "\n"), "\n") {
			fmt.Fprintln(e.Err, "dyno: "+oneParagraph(l))
		}
		e.mu.Unlock()
	}
	return &exitError{code: exitUsage}
}

// run prepares and runs one plan and prints its result.
func (x *compareFlags) run(ctx context.Context, e *env) (*trial.Result, error) {
	w := &watchComparison{env: e, began: time.Now()}
	x.o.Observer = w.observer()
	x.o.Progress = e.progress()
	x.o.Note = w.note
	x.o.DryRun = x.dryRun
	c, err := lab.Prepare(ctx, e.app, x.o)
	var other *lab.ResumeError
	if errors.As(err, &other) {
		return nil, &exitError{exitUsage, err}
	}
	if err != nil {
		return nil, planProblems(e, err)
	}
	if x.dryRun {
		return nil, printDryRun(e, c)
	}
	for _, s := range c.Needs.Warnings {
		e.remark("%s.", s)
	}
	if len(c.Begun) > 0 {
		e.remark("An experiment with this plan is unfinished: --resume %s continues it.", c.Begun[len(c.Begun)-1])
	}
	w.plan = c.Plan
	r, html, err := lab.Compare(ctx, e.app, c)
	if len(r.Trials) > 0 {
		if perr := printResult(e, &r, html); perr != nil && err == nil {
			err = perr
		}
	}
	if c.ID != "" && (err != nil || r.Stopped != "") && len(r.Trials) > 0 {
		more := ""
		if err == nil && experiment.OutOfBudget(r) {
			more = " --set budget=" + (2 * c.Plan.Budget).String()
		}
		e.remark("Stored %s. `dyno compare --resume %s%s` continues.", unit.Plural(len(r.Trials), "trial", "trials"),
			c.ID, more)
	}
	if err != nil {
		return nil, err
	}
	if x.bundle != "" {
		if err := writeBundle(e, c.ID, x.bundle); err != nil {
			return nil, err
		}
	}
	return &r, verdictExit(&r, x.failOn)
}

// verdictExit turns the outcome into the exit code.
func verdictExit(r *trial.Result, failOn string) error {
	undecided, compared, measured, worse := 0, 0, 0, false
	for _, c := range r.Cells {
		measured += c.Valid
		if c.Verdict == nil {
			continue
		}
		compared++
		switch c.Verdict.Result {
		case stat.Worse:
			worse = true
		case stat.Unstable, stat.Invalid:
			undecided++
		case stat.Better, stat.Same:
		}
	}
	switch {
	case worse && failOn != "":
		return &exitError{code: exitWorse}
	case compared > 0 && undecided == compared:
		return &exitError{code: exitUndecided}
	case compared == 0 && r.Control != nil && (r.Control.Result == stat.Unstable || r.Control.Result == stat.Invalid):
		return &exitError{code: exitUndecided}
	case compared == 0 && r.Control == nil && measured == 0:
		return &exitError{exitFailed, fmt.Errorf("nothing could be measured: %s",
			firstOf(r.Stopped, "every variant failed"))}
	}
	return nil
}

func writeBundle(e *env, id, file string) error {
	if err := userfile.Replace(file, func(w io.Writer) error { return lab.Bundle(e.app, id, w) }); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	e.remark("Bundle: %s", file)
	return nil
}

// printDryRun shows what would be run.
func printDryRun(e *env, c *lab.Comparison) error {
	if e.json() {
		err := e.writeJSON(struct {
			Message  string         `json:"message"`
			Plan     plan.Plan      `json:"plan"`
			Variants []plan.Variant `json:"variants"`
			Needs    any            `json:"needs"`
			Least    float64        `json:"least_s"`
			Most     float64        `json:"most_s"`
			Measured string         `json:"measured_in,omitzero"`
		}{"dry run", c.Plan, c.Variants, c.Needs, c.Least.Seconds(), c.Most.Seconds(), c.Measured})
		return errors.Join(err, cannotRun(c))
	}
	p := c.Plan
	fmt.Fprintf(e.Out, "%s\n\n", e.bold(oneParagraph(firstOf(p.Title, p.Name))))
	for _, s := range c.Needs.Servers {
		fmt.Fprintf(e.Out, "  server     %s  %s\n", s.Spec(), e.dim(s.Path))
	}
	least, most := p.Rounds()
	extra := ""
	if !p.Trials.NoControl {
		extra = ", and the baseline a second time in each round"
	}
	fmt.Fprintf(e.Out, "  variants   %d%s\n", len(c.Variants), extra)
	rounds := strconv.Itoa(least)
	if most != least {
		rounds = fmt.Sprintf("%d to %d", least, most)
	}
	fmt.Fprintf(e.Out, "  rounds     %s, in random order (seed %d)\n", rounds, p.Trials.Seed)
	if p.Trials.Time > 0 {
		fmt.Fprintf(e.Out, "  a trial    %s measured after %s to %s of warm-up, starts with: %s\n", p.Trials.Time,
			p.Trials.WarmMin, p.Trials.WarmMax, fresh(p.Trials.Fresh))
	}
	if p.Trials.Turns > 0 {
		fmt.Fprintf(e.Out, "  turns      the variants of a round take turns of %s on the running server, in random "+
			"order\n", unit.Seconds(time.Duration(p.Trials.Turns).Seconds()))
	}
	fmt.Fprintf(e.Out, "  same is    within ±%s at %s confidence\n", unit.Percent(p.Trials.Margin),
		unit.Percent(p.Trials.Conf))
	time := about(c.Least)
	if upTo := about(c.Most); upTo != time {
		time += " to " + upTo
	}
	fmt.Fprintf(e.Out, "  time       about %s, setup included", time)
	if c.Measured != "" {
		fmt.Fprintf(e.Out, " (as in %s)", c.Measured)
	}
	if p.Budget > 0 {
		fmt.Fprintf(e.Out, "; no longer than %s", p.Budget)
	}
	fmt.Fprintf(e.Out, "\n  disk       about %s of %s free\n  memory     about %s of %s available\n\n",
		unit.Bytes(float64(c.Needs.Disk)), unit.Bytes(float64(c.Needs.DiskFree)),
		unit.Bytes(float64(c.Needs.Memory)), unit.Bytes(float64(c.Needs.MemFree)))
	fmt.Fprintln(e.Out, e.dim("  variant → what it is compared with"))
	for _, v := range c.Variants {
		against := "  (baseline)"
		if v.Baseline != v.Key {
			against = "  → " + v.Baseline
		}
		fmt.Fprintf(e.Out, "  %s%s\n", v.Key, e.dim(against))
	}
	for _, s := range c.Needs.Warnings {
		e.remark("%s.", s)
	}
	return cannotRun(c)
}

// cannotRun is the error of a plan that something keeps from running on this machine.
func cannotRun(c *lab.Comparison) error {
	if len(c.Needs.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("the plan cannot run here: %s", strings.Join(c.Needs.Problems, "; "))
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func about(d time.Duration) string { return unit.Seconds(d.Round(time.Second).Seconds()) }

func fresh(f plan.Fresh) string {
	switch f {
	case plan.FreshData:
		return "restored data and a restarted server"
	case plan.FreshLive:
		return "the running server under its running load"
	case plan.FreshNone:
		return "the running server, where variants need no restart"
	default:
		return "a restarted server on the same data"
	}
}

// watchComparison tells an experiment as it happens.
type watchComparison struct {
	*env
	began  time.Time
	plan   plan.Plan
	length int
	begin  experiment.Begin
	sink   progress.Sink
}

func (w *watchComparison) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.json():
		_ = w.writeJSON(struct {
			Message string `json:"message"`
			Text    string `json:"text"`
		}{"note", s})
	case !w.quiet:
		w.clearLine()
		fmt.Fprintln(w.Err, w.style(w.Err, 2, fmt.Sprintf("%6s  %s", clock(time.Since(w.began)), oneParagraph(s))))
	}
}

func (w *watchComparison) observer() experiment.Observer {
	w.sink = w.progress()
	return experiment.Observer{
		Planned: w.planned,
		Begin: func(b experiment.Begin) {
			w.begin = b
			if w.json() {
				w.mu.Lock()
				defer w.mu.Unlock()
				_ = w.writeJSON(struct {
					Message   string  `json:"message"`
					Seq       int     `json:"seq"`
					Most      int     `json:"most"`
					Round     int     `json:"round"`
					Variant   string  `json:"variant"`
					Control   bool    `json:"control"`
					Remaining float64 `json:"remaining_s"`
				}{"begin", b.Seq, b.Most, b.Round, b.Variant, b.Control, b.Remaining.Seconds()})
			}
		},
		Progress: func(p progress.Progress) {
			if w.sink == nil {
				return
			}
			left := ""
			if w.begin.Remaining > 0 {
				left = ", all done within " + w.begin.Remaining.Round(time.Second).String()
			}
			p.Step = fmt.Sprintf("trial %d of at most %d%s: %s", w.begin.N, w.begin.Most, left, p.Step)
			w.sink(p)
		},
		End:    w.end,
		Judged: w.judged,
	}
}

func (w *watchComparison) planned(p experiment.Planned) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.json() {
		_ = w.writeJSON(struct {
			Message  string `json:"message"`
			Variants int    `json:"variants"`
			Min      int    `json:"rounds_min"`
			Max      int    `json:"rounds_max"`
			Trials   int    `json:"trials_most"`
			Done     int    `json:"trials_done"`
		}{"planned", p.Variants, p.Min, p.Max, p.Trials, p.Done})
		return
	}
	if w.quiet {
		return
	}
	w.clearLine()
	done := ""
	if p.Done > 0 {
		done = fmt.Sprintf(", %d of them already done", p.Done)
	}
	fmt.Fprintf(w.Err, "%s\n%d variants, %d to %d rounds, at most %d trials%s; %s to %s plus setup.\n",
		w.style(w.Err, 1, oneParagraph(firstOf(w.plan.Title, w.plan.Name))),
		p.Variants, p.Min, p.Max, p.Trials, done, about(p.Shortest), about(p.Longest))
}

func (w *watchComparison) end(t trial.Trial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.json() {
		t.Env, t.Latency = nil, nil // the result's bundle has them
		_ = w.writeJSON(struct {
			Message string      `json:"message"`
			Trial   trial.Trial `json:"trial"`
		}{"trial", t})
		return
	}
	if w.quiet {
		return
	}
	w.clearLine()
	name := t.Variant
	if t.Control {
		name += " (control)"
	}
	w.length = max(w.length, min(len(name), 60))
	said := "invalid: " + oneParagraph(t.Invalid)
	if t.Invalid == "" {
		var parts []string
		for i, show := range w.plan.Table.Show {
			if v, ok := t.Values[show]; ok && i < 3 {
				parts = append(parts, short(show, v, w.plan.Table.Unit))
			}
		}
		said = strings.Join(parts, "  ")
	}
	fmt.Fprintln(w.Err, w.style(w.Err, 2, fmt.Sprintf("%6s  round %-2d  %-*s  %s", clock(time.Since(w.began)), t.Round,
		w.length, name, said)))
}

func (w *watchComparison) judged(j experiment.Judged) {
	if len(j.Closed) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.json() {
		_ = w.writeJSON(struct {
			Message string   `json:"message"`
			Round   int      `json:"round"`
			Closed  []string `json:"closed"`
			Open    []string `json:"open"`
		}{"judged", j.Round, j.Closed, j.Open})
		return
	}
	if !w.quiet {
		w.clearLine()
		fmt.Fprintln(w.Err, w.style(w.Err, 2, fmt.Sprintf("%6s  after round %d: %d decided, %d open",
			clock(time.Since(w.began)), j.Round, len(j.Closed), len(j.Open))))
	}
}

// printResult prints the table, or the result as one JSON object.
func printResult(e *env, r *trial.Result, html string) error {
	if e.json() {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = e.Out.Write(append(b, '\n'))
		return err
	}
	if !e.quiet {
		fmt.Fprintln(e.Err)
	}
	if err := report.ComparisonTable(raw(e.Out), r, report.Options{Width: e.width(), Color: e.color()}); err != nil {
		return err
	}
	if html != "" {
		fmt.Fprintf(e.Out, "\nReport: %s\n", html)
	}
	return nil
}

// sideBySide compares two results.
func (x *compareFlags) sideBySide(ctx context.Context, e *env, a, b string) error {
	ra, err := lab.LoadResult(e.app, a)
	if err != nil {
		return err
	}
	rb, err := lab.LoadResult(e.app, b)
	if err != nil {
		return err
	}
	return x.beside(ctx, e, ra, rb)
}

func (x *compareFlags) beside(ctx context.Context, e *env, a, b trial.Result) error {
	r, html, err := lab.SideBySide(ctx, e.app, a, b)
	if err != nil {
		return err
	}
	if err := printResult(e, &r, html); err != nil {
		return err
	}
	return verdictExit(&r, x.failOn)
}

// again runs the plan of a bundle here and sets the results side by side.
func (x *compareFlags) again(ctx context.Context, e *env, file string) error {
	there, h, err := lab.LoadBundle(e.app, file)
	if err != nil {
		return err
	}
	x.o.Text, x.o.File = []byte(h.Plan), "plan in "+file
	if x.o.Scale == "" {
		x.o.Scale = h.Scale
	}
	for k, v := range h.Axes {
		if _, given := x.o.Axes[k]; !given {
			x.o.Axes[k] = v
		}
	}
	for k, v := range h.Set {
		if _, given := x.o.Set[k]; !given {
			x.o.Set[k] = v
		}
	}
	here, verdict := x.run(ctx, e)
	if here == nil {
		return verdict
	}
	if there == nil {
		e.remark("The bundle has no result of its own to compare with.")
		return verdict
	}
	return cmp.Or(x.beside(ctx, e, *there, *here), verdict) // two results are set side by side whatever they say
}

// short writes one value of a trial with its name.
func short(name string, v float64, u string) string {
	m := trial.MetricOf(name, u)
	switch m.Unit {
	case "bytes", "B":
		return m.Title + " " + unit.Bytes(v)
	case "share":
		return m.Title + " " + unit.Percent(v)
	case "1/s":
		return unit.Count(v) + " " + m.Title
	}
	return strings.TrimRight(m.Title+" "+unit.Count(v)+" "+m.Unit, " ")
}
