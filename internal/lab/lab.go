// Package lab runs experiments and comparisons, and shows them with recipes, runs and reports.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Lab shows the experiments, recipes and runs, and carries experiments out.
type Lab struct {
	app     *app.App
	tasks   *task.List
	watched func() []ledger.Target

	mu    sync.Mutex
	texts map[string]string      // names of the recipes by their texts
	lines map[string]stampedLine // by directory, or by document
	heads map[string]stampedHead // by document
	live  map[string]*liveLab    // by task
}

// New returns the lab of a service that works in tasks. watched returns the targets that the service watches.
func New(a *app.App, tasks *task.List, watched func() []ledger.Target) *Lab {
	return &Lab{
		app: a, tasks: tasks, watched: watched, lines: map[string]stampedLine{},
		heads: map[string]stampedHead{}, live: map[string]*liveLab{},
	}
}

// ErrNoRecord is the answer to an id that no experiment, run or report has, or has any more.
var ErrNoRecord = errors.New("there is no such experiment, run or report")

// State says how far an experiment got.
type State string

// The states of an experiment.
const (
	Running     State = "running"
	Finished    State = "finished"
	Interrupted State = "interrupted" // it can be resumed
	Damaged     State = "damaged"     // it cannot be read
)

// Line is one experiment of the list.
type Line struct {
	ID string `json:"id"`
	// "experiment", or "side by side": two results that were compared with each other
	Kind     string             `json:"kind"`
	Name     string             `json:"name,omitzero"`
	Title    string             `json:"title,omitzero"`
	Recipe   string             `json:"recipe,omitzero"` // it is one, as it ships
	Scale    string             `json:"scale,omitzero"`
	State    State              `json:"state"`
	Started  time.Time          `json:"started,omitzero"`
	Ended    time.Time          `json:"ended,omitzero"` // of the last trial on record while it runs
	Variants int                `json:"variants"`
	Trials   int                `json:"trials"`
	Sentence string             `json:"sentence,omitzero"`
	Tally    []report.LaidTally `json:"tally"`             // results of its comparisons
	Stopped  string             `json:"stopped,omitzero"`  // why it ended early
	Problem  string             `json:"problem,omitzero"`  // why it cannot be read
	Task     string             `json:"task,omitzero"`     // of this process, that carries it out
	PID      int                `json:"pid,omitzero"`      // of another process that carries it out
	Warnings []string           `json:"warnings,omitzero"` // trials that are damaged
}

// Experiment is one experiment with everything that is known of it.
type Experiment struct {
	Line
	Laid      report.Laid         `json:"laid"`
	Cells     []trial.Cell        `json:"cells"` // of the result, as `dyno report ID --output json` has them
	Runs      []Trial             `json:"runs"`  // every trial in the order in which they began
	Remarks   []string            `json:"remarks"`
	PlanText  string              `json:"plan_text"`
	About     string              `json:"about,omitzero"`
	Axes      map[string][]string `json:"axes,omitempty"` // what was laid over the plan
	Set       map[string]string   `json:"set,omitempty"`
	Dyno      string              `json:"dyno,omitzero"`
	Placement string              `json:"placement,omitzero"`
	Live      *Live               `json:"live,omitempty"` // while this process carries it out
}

// Trial is one trial without its seconds: those are in the strips.
type Trial struct {
	Seq      int                `json:"seq"`
	Round    int                `json:"round"`
	Variant  string             `json:"variant"`
	Control  bool               `json:"control,omitzero"`
	From     time.Time          `json:"from"`
	To       time.Time          `json:"to"`
	Setup    float64            `json:"setup_seconds"`
	Warm     float64            `json:"warm_seconds"`
	Values   map[string]float64 `json:"values"`
	Errors   map[string]uint64  `json:"errors,omitempty"`
	Invalid  string             `json:"invalid,omitzero"`
	Warnings []string           `json:"warnings,omitempty"`
}

// stampedLine is a line that was made of files with those times.
type stampedLine struct {
	stamp string
	line  Line
	none  bool // it is no comparison
}

// Experiments lists all experiments, newest first; one that cannot be read is there too, damaged.
func (l *Lab) Experiments(ctx context.Context) ([]Line, error) {
	entries, err := os.ReadDir(app.Stores{App: l.app}.ExperimentsDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list experiments: %w", err)
	}
	recipes := l.recipeTexts()
	out := []Line{}
	seen := map[string]bool{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e.IsDir() {
			seen[e.Name()] = true
			out = append(out, l.line(e.Name(), recipes))
		}
	}
	sides, err := l.sides(ctx, seen)
	if err != nil {
		return nil, err
	}
	out = append(out, sides...)
	slices.SortFunc(out, func(x, y Line) int {
		return cmp.Or(y.Started.Compare(x.Started),
			strings.Compare(y.ID, x.ID))
	})
	return out, nil
}

// line makes one line, or takes the one that was made of the same files.
func (l *Lab) line(name string, recipes map[string]string) Line {
	dir := app.Stores{App: l.app}.ExperimentDir(name)
	var stamp strings.Builder
	for _, f := range []string{"", "experiment.json", "result.json", "trials"} {
		if i, err := os.Stat(filepath.Join(dir, f)); err == nil {
			fmt.Fprintf(&stamp, "%s %d %d;", f, i.ModTime().UnixNano(), i.Size())
		}
	}
	l.mu.Lock()
	kept := l.lines[name]
	l.mu.Unlock()
	if kept.stamp != stamp.String() {
		kept = stampedLine{stamp: stamp.String(), line: l.read(name, recipes)}
		l.mu.Lock()
		l.lines[name] = kept
		l.mu.Unlock()
	}
	return l.settled(kept.line)
}

// settled adds what no file tells: whether somebody carries it out.
func (l *Lab) settled(x Line) Line {
	if x.State == Damaged {
		return x
	}
	pid, busy := trials.Busy(app.Stores{App: l.app}.ExperimentDir(x.ID))
	if !busy {
		return x
	}
	x.State, x.Stopped = Running, ""
	if live := l.liveOf(x.ID); live != nil {
		x.Task = live.Task
	} else {
		x.PID = pid
	}
	return x
}

// read makes a line of what lies on disk.
func (l *Lab) read(name string, recipes map[string]string) Line {
	k, err := trials.Read(app.Stores{App: l.app}.ExperimentDir(name))
	if err != nil {
		return Line{
			ID: name, Kind: "experiment", State: Damaged, Problem: err.Error(), Started: k.Header.Started,
			Trials: len(k.Trials), Tally: []report.LaidTally{},
		}
	}
	r, err := readResult(k, false)
	x := lineOf(name, r)
	x.Recipe, x.Scale, x.Started, x.Warnings = recipes[k.Header.Plan], k.Header.Scale, k.Header.Started, k.Warnings
	if err != nil {
		x.State, x.Problem = Damaged, err.Error()
	}
	return x
}

func lineOf(id string, r trial.Result) Line {
	x := Line{
		ID: id, Kind: "experiment", Name: r.Plan.Name, Title: r.Plan.Title, Scale: r.Plan.Scale, State: Finished,
		Started: r.Started, Ended: r.Ended,
		Variants: len(r.Variants), Trials: len(r.Trials), Sentence: r.Sentence, Stopped: r.Stopped,
		Tally: report.Lay(&r).Tally,
	}
	if r.Stopped != "" {
		x.State = Interrupted
	}
	if r.Unpaired {
		x.Kind = "side by side"
	}
	return x
}

// readResult returns the result of an experiment as it lies on disk; while it has none, or goes on beyond it, what its
// trials tell so far. With places the environment of trials is summed up in it.
func readResult(k trials.Kept, places bool) (trial.Result, error) {
	if k.Result != nil && len(k.Result.Trials) >= len(k.Trials) {
		return *k.Result, nil
	}
	p, err := plan.Parse([]byte(k.Header.Plan), plan.Options{
		File: "plan of " + k.Header.ID, Scale: k.Header.Scale, Axes: k.Header.Axes, Set: k.Header.Set,
		Workloads: app.Workloads(), Words: PlanWords(),
	})
	if err != nil {
		return trial.Result{Trials: k.Trials}, err
	}
	vs, err := p.Variants()
	if err != nil {
		return trial.Result{Plan: p, Trials: k.Trials}, err
	}
	r := trial.Result{
		Format: trial.Format, ID: k.Header.ID, Plan: p, PlanText: k.Header.Plan, Dyno: k.Header.Dyno,
		Started: k.Header.Started, Variants: vs, Trials: k.Trials,
		Stopped: "it was interrupted",
	}
	if n := len(k.Trials); n > 0 {
		r.Ended = k.Trials[n-1].To
		compare.Fill(&r)
	}
	if places {
		surroundings(&r)
	}
	return r, nil
}

// sides lists the results that were set side by side, which are reports alone.
func (l *Lab) sides(ctx context.Context, seen map[string]bool) ([]Line, error) {
	led, err := l.app.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := led.Documents.Heads(ctx, string(report.Compare), maxSides)
	if err != nil {
		return nil, err
	}
	var out []Line
	for _, d := range docs {
		if seen[d.ID] {
			continue
		}
		stamp := stampOf(d)
		l.mu.Lock()
		kept := l.lines[d.ID]
		l.mu.Unlock()
		if kept.stamp != stamp {
			full, err := led.Documents.Get(ctx, d.ID)
			if errors.Is(err, ledger.ErrNotFound) { // it was removed just now
				continue
			}
			if err != nil {
				return nil, err
			}
			kept = sideOf(full)
			kept.stamp = stamp
			l.mu.Lock()
			l.lines[d.ID] = kept
			l.mu.Unlock()
		}
		if !kept.none {
			out = append(out, kept.line)
		}
	}
	return out, nil
}

// stampOf changes with a document; one that is stored anew keeps its time.
func stampOf(d ledger.Listed) string { return fmt.Sprintf("document %s %d", d.At, d.Size) }

// sideOf makes the line of a document.
func sideOf(d ledger.Document) (x stampedLine) {
	doc, err := report.Decode(d.JSON)
	switch {
	case err != nil:
		x.line = Line{
			ID: d.ID, Kind: "side by side", State: Damaged, Problem: err.Error(), Started: d.At,
			Tally: []report.LaidTally{},
		}
	case doc.Comparison == nil:
		x.none = true
		return x
	default:
		x.line = lineOf(d.ID, *doc.Comparison)
	}
	if slices.ContainsFunc(x.line.Tally, func(t report.LaidTally) bool { return t.Word == "" }) {
		x.line.Tally = nil
	}
	return x
}

// maxSides is how many reports of comparisons are looked at for those that have no directory.
const maxSides = 100

// result finds an experiment by its id. With places the environment of its trials is summed up also while it runs.
func (l *Lab) result(ctx context.Context, id string, places bool) (trial.Result, Line, trials.Header, error) {
	if !strings.HasPrefix(id, string(ledger.ExperimentID)+"-") || filepath.Base(id) != id {
		return trial.Result{}, Line{}, trials.Header{}, fmt.Errorf("%w: %q is not an experiment id, they look like "+
			"x-1kq3f9", ErrNoRecord, id)
	}
	k, err := trials.Read(app.Stores{App: l.app}.ExperimentDir(id))
	switch {
	case err == nil:
		_, busy := trials.Busy(app.Stores{App: l.app}.ExperimentDir(id))
		r, err := readResult(k, places || !busy)
		if err != nil {
			return r, Line{}, k.Header, fmt.Errorf("read the plan of %s: %w", id, err)
		}
		r.ID = id
		x := l.settled(lineOf(id, r))
		x.Recipe, x.Scale, x.Started, x.Warnings = l.recipeTexts()[k.Header.Plan], k.Header.Scale,
			k.Header.Started, k.Warnings
		return r, x, k.Header, nil
	case !errors.Is(err, trials.ErrNotFound):
		return trial.Result{}, Line{ID: id, State: Damaged, Problem: err.Error()}, k.Header, err
	}
	led, err := l.app.Ledger(ctx)
	if err != nil {
		return trial.Result{}, Line{}, k.Header, err
	}
	d, err := led.Documents.Get(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return trial.Result{}, Line{}, k.Header, fmt.Errorf("%w: no experiment has the id %s; it may have been removed",
			ErrNoRecord, id)
	}
	if err != nil {
		return trial.Result{}, Line{}, k.Header, err
	}
	doc, err := report.Decode(d.JSON)
	if err != nil {
		return trial.Result{}, Line{}, k.Header, err
	}
	if doc.Comparison == nil {
		return trial.Result{}, Line{}, k.Header, fmt.Errorf("%w: %s is not a comparison", ErrNoRecord, id)
	}
	// of an experiment the directory was removed, and its report is left
	return *doc.Comparison, lineOf(id, *doc.Comparison), k.Header, nil
}

// Experiment returns one experiment. While it runs it is what its trials tell so far.
func (l *Lab) Experiment(ctx context.Context, id string) (Experiment, error) {
	r, line, h, err := l.result(ctx, id, false)
	if err != nil {
		return Experiment{}, err
	}
	x := show(&r, line)
	x.Axes, x.Set = h.Axes, h.Set
	x.Live = l.liveOf(id)
	return x, nil
}

// SideBySide sets two experiments against each other without keeping what comes out, see compare.Sets.
func (l *Lab) SideBySide(ctx context.Context, id, with string) (Experiment, error) {
	var both [2]trial.Result
	for i, id := range []string{id, with} {
		r, x, _, err := l.result(ctx, id, true)
		if err != nil {
			return Experiment{}, err
		}
		if x.State == Running {
			r.Stopped, r.Warnings = "", append(slices.Clone(r.Warnings), "it is still running; these are its trials "+
				"so far")
		}
		both[i] = r
	}
	r, err := compare.Sets(both[0], both[1])
	if err != nil {
		return Experiment{}, err
	}
	line := lineOf(id, r)
	return show(&r, line), nil
}

// show lays a result out.
func show(r *trial.Result, line Line) Experiment {
	told := *r
	if line.State == Running {
		told.Stopped = "" // which is known when it has ended
	}
	d := report.Comparison(&told, r.Ended)
	x := Experiment{
		Line: line, Laid: report.Lay(r), Cells: r.Cells, Runs: []Trial{}, Remarks: []string{}, PlanText: r.PlanText,
		About: r.Plan.About, Dyno: r.Dyno,
		Placement: string(r.Plan.Placement.Mode),
	}
	x.Title = d.Title
	if x.Cells == nil {
		x.Cells = []trial.Cell{}
	}
	x.Remarks = append(x.Remarks, d.Warnings...)
	for _, t := range r.Trials {
		v := t.Values
		if v == nil {
			v = map[string]float64{}
		}
		x.Runs = append(x.Runs, Trial{
			t.Seq, t.Round, t.Variant, t.Control, t.From, t.To, t.Setup, t.Warm, v, t.Errors,
			t.Invalid, t.Warnings,
		})
	}
	return x
}
