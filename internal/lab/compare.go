package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/recipe"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/testbed"
	"github.com/dyno-perf/dyno/internal/trial"
)

// CompareOptions says which experiment to run.
type CompareOptions struct {
	Text  []byte // the plan
	File  string // it came from, for messages
	Scale string
	Axes  map[string][]string // see plan.Options
	Set   map[string]string
	// Resume is the id of an experiment to go on with. Without a Text it is gone on with as it was begun: Scale, Axes
	// and Set may only say what held then, and Recipe, when it is not empty, must be the name of its plan.
	Resume string
	Recipe string

	ServerDirs []string
	Install    bool // fetch servers that are not there
	DryRun     bool // only to be looked at: nothing is fetched
	DropData   bool // data sets made for it are removed in the end
	Observer   experiment.Observer
	Progress   progress.Sink // of what comes before the trials
	Note       func(string)
}

// Comparison is an experiment that is ready to run.
type Comparison struct {
	Plan     plan.Plan
	Variants []plan.Variant
	Needs    testbed.Needs
	Least    time.Duration // with setting up
	Most     time.Duration
	Measured string   // id of the earlier run of this plan that they were measured in; empty: they are estimates
	ID       string   // of the experiment that is resumed, "" for a new one
	Done     int      // trials on record
	Begun    []string // ids of experiments with this plan that were not finished

	o       CompareOptions
	yard    *sandbox.Yard
	testbed *testbed.Testbed
}

// ResumeError says that an experiment cannot be gone on with as it was asked for, and why.
type ResumeError struct{ ID, Why string }

func (e *ResumeError) Error() string { return "resume " + e.ID + ": " + e.Why }

// MissingServersError names the servers of a plan that are not on this machine.
type MissingServersError struct {
	DryRun  bool     // they were to be fetched, had it not been for a dry run
	Specs   []string // flavors with or without a version, no paths
	Offered []string // those that can be fetched here
	There   []string // what of the flavors of the others can be
}

func (e *MissingServersError) Error() string {
	var ways, unpack []string
	for _, s := range e.Specs {
		if !slices.Contains(e.Offered, s) {
			unpack = append(unpack, s)
		}
	}
	if cs := e.Commands(); len(cs) > 0 && e.DryRun {
		ways = append(ways, "a dry run fetches nothing: get it with `"+strings.Join(cs, "`, `")+
			"` or without --dry-run")
	} else if len(cs) > 0 {
		ways = append(ways, "get it with `"+strings.Join(cs, "`, `")+"` or --install")
	}
	if len(unpack) > 0 {
		there := ""
		if len(e.There) > 0 {
			there = " (there are " + strings.Join(e.There, ", ") + ")"
		}
		ways = append(ways, "there is no download of "+strings.Join(unpack, ", ")+there+
			": unpack its archive and name the directory with --server-dir")
	}
	return fmt.Sprintf("not on this machine: %s; %s; or name another server with --axis server=…",
		strings.Join(e.Specs, ", "), strings.Join(ways, "; "))
}

// Commands returns those that fetch what can be fetched.
func (e *MissingServersError) Commands() []string {
	var cs []string
	for _, s := range e.Offered {
		cs = append(cs, "dyno sandbox install "+s)
	}
	return cs
}

// Recipes returns the experiments that ship with Dyno.
func Recipes(a *app.App) ([]recipe.Recipe, error) { return recipe.All(app.Workloads(), PlanWords()) }

// Prepare reads a plan, finds its servers and says what it will take. Nothing is started.
func Prepare(ctx context.Context, a *app.App, o CompareOptions) (*Comparison, error) {
	c := &Comparison{o: o, ID: o.Resume}
	if o.Resume != "" {
		k, err := keptExperiment(a, o.Resume)
		if err != nil {
			return nil, err
		}
		c.Done = len(k.Trials)
		if ended(a, o.Resume, k) {
			return nil, &ResumeError{o.Resume, "it is finished, and there is nothing to resume; `dyno report " +
				o.Resume + "` shows it"}
		}
		if len(o.Text) == 0 {
			if err := o.begunSo(k.Header); err != nil {
				return nil, err
			}
			c.o.Text, c.o.File = []byte(k.Header.Plan), "plan of "+o.Resume
			c.o.Scale, c.o.Axes, c.o.Set = k.Header.Scale, k.Header.Axes, k.Header.Set
			if b, ok := o.Set[budgetPath]; ok {
				c.o.Set = maps.Clone(c.o.Set)
				if c.o.Set == nil {
					c.o.Set = map[string]string{}
				}
				c.o.Set[budgetPath] = b
			}
		}
	}
	var err error
	c.Plan, err = plan.Parse(c.o.Text, plan.Options{
		File: c.o.File, Scale: c.o.Scale, Axes: c.o.Axes, Set: c.o.Set,
		Workloads: app.Workloads(), Words: PlanWords(),
	})
	if err != nil {
		return nil, err
	}
	if o.Resume != "" && o.Recipe != "" && c.Plan.Name != o.Recipe {
		return nil, &ResumeError{o.Resume, fmt.Sprintf("it is of %s, not of the recipe %s; `dyno compare --resume "+
			"%s` resumes it", c.Plan.Name, o.Recipe, o.Resume)}
	}
	if c.Variants, err = c.Plan.Variants(); err != nil {
		return nil, err
	}
	c.Least, c.Most, c.Measured = duration(a, c.Plan)
	if c.yard, err = a.Yard(); err != nil {
		return nil, err
	}
	c.yard.ServerDirs = o.ServerDirs
	if err := c.servers(ctx); err != nil {
		return nil, err
	}
	c.testbed = &testbed.Testbed{Yard: c.yard, Workloads: app.Workloads(), Family: familyOf, Note: o.Note}
	if c.Needs, err = c.testbed.Check(ctx, c.Plan, c.Variants); err != nil {
		return nil, err
	}
	if o.Resume == "" {
		c.Begun = begun(a, c.Plan.Hash())
	}
	return c, nil
}

// ended reports whether nothing of an experiment is left to do: it came to its end, no trial of it was lost since, no
// variant failed that might be tried once more, and its report is there.
func ended(a *app.App, id string, k trials.Kept) bool {
	if k.Result == nil || k.Result.Stopped != "" || len(k.Trials) < len(k.Result.Trials) {
		return false
	}
	if slices.ContainsFunc(k.Result.Cells, func(c trial.Cell) bool { return c.Failed != "" }) {
		return false
	}
	_, err := os.Stat(filepath.Join(a.ReportDir(id), "report.html")) // the last that is written of it
	return err == nil
}

// budgetPath is where a plan says how long its experiment may take. What its trials measure does not depend on it.
const budgetPath = "budget"

// begunSo refuses options that an experiment was not begun with: what its trials measure cannot change on the way.
func (o *CompareOptions) begunSo(h trials.Header) error {
	var other []string
	differ := func(given, was string) {
		if was == "" {
			was = "without it"
		} else {
			was = "with " + was
		}
		other = append(other, "it was started "+was+", not with "+given)
	}
	if o.Scale != "" && o.Scale != h.Scale {
		was := ""
		if h.Scale != "" {
			was = "--scale " + h.Scale
		}
		differ("--scale "+o.Scale, was)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Axes)) {
		write := func(levels []string) string { return "--axis " + name + "=" + strings.Join(levels, ",") }
		switch was, ok := h.Axes[name]; {
		case !ok:
			differ(write(o.Axes[name]), "")
		case !slices.Equal(was, o.Axes[name]):
			differ(write(o.Axes[name]), write(was))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(o.Set)) {
		if path == budgetPath {
			continue
		}
		write := func(value string) string { return "--set " + path + "=" + value }
		switch was, ok := h.Set[path]; {
		case !ok:
			differ(write(o.Set[path]), "")
		case was != o.Set[path]:
			differ(write(o.Set[path]), write(was))
		}
	}
	if len(other) == 0 {
		return nil
	}
	return &ResumeError{o.Resume, strings.Join(other, "; ") + ": leave that out, or start a new experiment"}
}

// servers makes sure that all server builds are there.
func (c *Comparison) servers(ctx context.Context) error {
	missing := &MissingServersError{DryRun: c.o.Install && c.o.DryRun}
	seen := map[string]bool{}
	for _, v := range c.Variants {
		spec := v.Config.Server
		if seen[spec] {
			continue
		}
		seen[spec] = true
		_, err := c.yard.Resolve(ctx, spec)
		switch {
		case err == nil:
		case !errors.Is(err, sandbox.ErrNoServer), spec == "", strings.Contains(spec, "/"):
			// what is wrong at a path nobody can fetch
			return err
		case c.o.Install && !c.o.DryRun:
			if m, ok := c.yard.Missing(ctx, spec); ok { // said before it is done
				c.note(m.Sentence())
			}
			if _, err := c.yard.Install(ctx, spec, c.o.Progress); err != nil {
				return err
			}
		default:
			missing.Specs = append(missing.Specs, spec)
			if _, ok := c.yard.Missing(ctx, spec); ok {
				missing.Offered = append(missing.Offered, spec)
				continue
			}
			flavor, _, _ := strings.Cut(spec, "@")
			for _, o := range c.yard.Offers() {
				if s := o.Spec(); string(o.Flavor) == flavor && !slices.Contains(missing.There, s) {
					missing.There = append(missing.There, s)
				}
			}
		}
	}
	if len(missing.Specs) > 0 {
		return missing
	}
	return nil
}

// keptExperiment returns the experiment of that id as it lies on disk.
func keptExperiment(a *app.App, id string) (trials.Kept, error) {
	if !strings.HasPrefix(id, string(ledger.ExperimentID)+"-") || filepath.Base(id) != id {
		return trials.Kept{}, fmt.Errorf("%q is not an experiment id: they look like x-1kq3f9", id)
	}
	k, err := trials.Read(app.Stores{App: a}.ExperimentDir(id))
	if errors.Is(err, os.ErrNotExist) {
		return k, fmt.Errorf("no experiment has the id %s; `dyno compare --list` shows them", id)
	}
	return k, err
}

// begun returns the ids of experiments with that hash that have not come to their end and that nobody is at, oldest
// first.
func begun(a *app.App, hash string) (ids []string) {
	all, err := Experiments(a)
	if err != nil {
		return nil
	}
	for _, k := range all {
		if _, busy := trials.Busy((app.Stores{App: a}).ExperimentDir(k.ID)); k.Hash == hash && !k.Complete &&
			k.Trials > 0 && !busy {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// ExperimentLine is one line of the list of experiments.
type ExperimentLine struct {
	ID       string    `json:"id"`
	Started  time.Time `json:"started"`
	Name     string    `json:"name"`
	Title    string    `json:"title,omitzero"`
	Trials   int       `json:"trials"`
	Complete bool      `json:"complete"`
	Sentence string    `json:"sentence,omitzero"`
	Hash     string    `json:"-"`
	Problem  string    `json:"problem,omitzero"`
}

// Experiments lists what was begun, oldest first.
func Experiments(a *app.App) ([]ExperimentLine, error) {
	entries, err := os.ReadDir(app.Stores{App: a}.ExperimentsDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list experiments: %w", err)
	}
	var out []ExperimentLine
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		k, err := trials.Read(filepath.Join(app.Stores{App: a}.ExperimentsDir(), e.Name()))
		l := ExperimentLine{ID: e.Name(), Started: k.Header.Started, Trials: len(k.Trials), Hash: k.Header.Hash}
		if err != nil {
			l.Problem = err.Error()
		} else if p, err := plan.Parse([]byte(k.Header.Plan), plan.Options{
			Scale: k.Header.Scale, Axes: k.Header.Axes,
			Set: k.Header.Set, Workloads: app.Workloads(), Words: PlanWords(),
		}); err == nil {
			l.Name, l.Title = p.Name, p.Title
		}
		if k.Result != nil {
			l.Complete, l.Sentence = k.Result.Stopped == "", k.Result.Sentence
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(x, y ExperimentLine) int { return x.Started.Compare(y.Started) })
	return out, nil
}

// Compare runs a prepared experiment, or goes on with it, and keeps every trial, the result and its report. The result
// is returned also when the experiment was stopped; Result.Stopped then says why, and the id resumes it. An experiment
// that ended without a trial is an error, and nothing is kept of it, and so is one beside another that is under way.
func Compare(ctx context.Context, a *app.App, c *Comparison) (r trial.Result, html string, err error) {
	if len(c.Needs.Problems) > 0 {
		return r, "", fmt.Errorf("run %s: %s", c.Plan.Name, strings.Join(c.Needs.Problems, "; "))
	}
	free, err := alone(a)
	if err != nil {
		return r, "", fmt.Errorf("run %s: %w", c.Plan.Name, err)
	}
	defer func() { err = errors.Join(err, free()) }()
	d, err := openExperiment(ctx, a, c)
	if err != nil {
		return r, "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	earlier, err := d.All()
	if err != nil {
		return r, "", err
	}
	for _, w := range d.Warnings() {
		c.note(w)
	}
	keep := context.WithoutCancel(ctx)
	h := d.Header()
	c.testbed.Name = h.ID
	before := c.dataSets(keep)
	left := app.Orphans(keep, c.yard, c.testbed.Name+"-")
	if left != "" {
		c.note(left + ".")
	}
	r, err = experiment.Compare(ctx, c.Plan, c.Variants, earlier, c.testbed, d, c.o.Observer)
	err = errors.Join(err, c.testbed.Close(keep))
	if left != "" {
		r.Warnings = append([]string{left}, r.Warnings...)
	}
	if c.o.DropData {
		for _, key := range c.dataSets(keep) {
			if !slices.Contains(before, key) {
				err = errors.Join(err, c.yard.RemoveData(keep, key))
			}
		}
	}
	if len(r.Trials) == 0 {
		if err == nil { // it ended by itself, and nobody can tell from a result why
			err = fmt.Errorf("run %s: it ended before its first trial: %s", c.Plan.Name,
				cmp.Or(r.Stopped, "there was nothing to run"))
		}
		if c.o.Resume == "" {
			c.ID, err = "", errors.Join(err, os.RemoveAll(d.Path())) // there is nothing in it to go on with
		}
		return r, "", err
	}
	r.ID, r.PlanText, r.Dyno = h.ID, h.Plan, a.Version
	surroundings(&r)
	if perr := d.PutResult(r); perr != nil {
		return r, "", errors.Join(err, perr)
	}
	doc := report.Comparison(&r, time.Now())
	html, rerr := app.Reports{App: a}.StoreReport(keep, *doc, a.ReportDir(r.ID))
	return r, html, errors.Join(err, rerr)
}

func (c *Comparison) dataSets(ctx context.Context) (keys []string) {
	sets, err := c.yard.DataSets(ctx)
	if err != nil {
		return nil
	}
	for _, s := range sets {
		keys = append(keys, s.Key)
	}
	return keys
}

func (c *Comparison) note(s string) {
	if c.o.Note != nil {
		c.o.Note(s)
	}
}

// openExperiment begins a new experiment on disk, or holds the one to resume.
func openExperiment(ctx context.Context, a *app.App, c *Comparison) (*trials.Dir, error) {
	if c.ID != "" {
		d, err := trials.Open(app.Stores{App: a}.ExperimentDir(c.ID))
		if err != nil {
			return nil, err
		}
		if err := d.Same(c.Plan.Hash()); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		return d, nil
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	id, err := l.NewID(ctx, ledger.ExperimentID)
	if err != nil {
		return nil, err
	}
	c.ID = id
	return trials.Create(app.Stores{App: a}.ExperimentDir(id), trials.Header{
		ID: id, Plan: string(c.o.Text), Scale: c.o.Scale, Axes: c.o.Axes, Set: c.o.Set, Hash: c.Plan.Hash(),
		Dyno: a.Version, Started: time.Now(),
	})
}

// surroundings sums up what the trials ran on, and takes the single readings out of the result: the trials' own files
// have them.
func surroundings(r *trial.Result) {
	envs := map[string][]trial.Environment{}
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Env != nil {
			if t.Invalid == "" {
				envs[t.Variant] = append(envs[t.Variant], *t.Env)
			}
			t.Env = nil
		}
	}
	if len(envs) > 0 {
		r.Env, r.AlsoDiffers, r.Explained = trial.Differences(r.Variants, envs, causesOf)
	}
}

// Bundle writes an experiment so that another machine can run it again and set it beside: plan, environment, trials,
// result.
func Bundle(a *app.App, id string, w io.Writer) error {
	if _, err := keptExperiment(a, id); err != nil {
		return err
	}
	return trials.Export(app.Stores{App: a}.ExperimentDir(id), w)
}
