package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/recipe"
)

// Recipe is one recipe.
type Recipe struct {
	Name   string      `json:"name"`
	Title  string      `json:"title"` // the question it answers
	Topic  string      `json:"topic"`
	About  string      `json:"about,omitzero"`
	Scales []Scale     `json:"scales"`
	Ran    []RecipeRun `json:"ran"` // experiments that were this recipe, newest first
}

// RecipeRun is an experiment that carried a recipe out.
type RecipeRun struct {
	ID    string `json:"id"`
	Scale string `json:"scale,omitzero"`
	State State  `json:"state"`
}

// Scale is what a recipe takes at one scale.
type Scale struct {
	Scale    string   `json:"scale"`
	Variants int      `json:"variants"`
	Rounds   [2]int   `json:"rounds"`  // at least, at most
	Trials   [2]int   `json:"trials"`  // in all, at least and at most; fewer when variants are decided early
	Seconds  float64  `json:"seconds"` // that each trial measures; 0 for probes
	Least    float64  `json:"least_seconds"`
	Most     float64  `json:"most_seconds"` // with setting up
	Budget   float64  `json:"budget_seconds,omitzero"`
	Servers  []string `json:"servers"`
	Problem  string   `json:"problem,omitzero"` // it has no such scale
}

// DryRun is a recipe with a dry run of it on this machine.
type DryRun struct {
	Recipe
	Text      string    `json:"text"`  // of the plan
	Dry       Scale     `json:"dry"`   // at the scale asked for
	Table     []Variant `json:"table"` // variants and what each is compared with
	Show      []string  `json:"show"`
	Published []string  `json:"published"` // what others found
	Missing   []string  `json:"missing"`   // servers that are not on this machine
	Install   []string  `json:"install"`   // commands that fetch them
	Needs     Needs     `json:"needs"`
	Problems  []string  `json:"problems"` // it cannot run with them
	Warnings  []string  `json:"warnings"`
	Disturbs  []string  `json:"disturbs"` // watched targets on this machine: their figures are affected while it runs
	Disturb   string    `json:"disturb"`  // that in words
}

// Variant is one line of the table to be.
type Variant struct {
	Key     string `json:"key"`
	Against string `json:"against,omitzero"`
}

// Needs is what an experiment takes of the machine; unknown while servers are missing.
type Needs struct {
	Servers    []string             `json:"servers"`
	Disk       known.Value[float64] `json:"disk_bytes,omitzero"`
	DiskFree   known.Value[float64] `json:"disk_free_bytes,omitzero"`
	Memory     known.Value[float64] `json:"memory_bytes,omitzero"`
	MemoryFree known.Value[float64] `json:"memory_free_bytes,omitzero"`
}

// ErrOptions is the answer to a recipe's scale or setting that cannot be given here.
var ErrOptions = errors.New("it cannot be run like this")

// recipeTexts has the names of the recipes by their texts. They ship with the program, so they are read once.
func (l *Lab) recipeTexts() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = map[string]string{}
		all, _ := Recipes(l.app) // the program's tests read them
		for _, r := range all {
			l.texts[string(r.Text)] = r.Name
		}
	}
	return l.texts
}

// Recipes lists the recipes with what each takes at every scale.
func (l *Lab) Recipes(ctx context.Context) ([]Recipe, error) {
	all, err := Recipes(l.app)
	if err != nil {
		return nil, err
	}
	ran, err := l.Experiments(ctx)
	if err != nil {
		return nil, err
	}
	out := []Recipe{}
	for _, r := range all {
		out = append(out, l.recipe(r, ran))
	}
	return out, nil
}

func (l *Lab) recipe(r recipe.Recipe, ran []Line) Recipe {
	x := Recipe{Name: r.Name, Title: r.Title, Topic: r.Topic, Scales: []Scale{}, Ran: []RecipeRun{}}
	for _, s := range recipe.Scales {
		p, vs, err := recipePlan(r, s, nil)
		if err != nil {
			x.Scales = append(x.Scales, Scale{Scale: s, Problem: err.Error(), Servers: []string{}})
			continue
		}
		x.About = p.About
		x.Scales = append(x.Scales, scaleOf(s, p, vs))
	}
	for _, e := range ran {
		if e.Recipe == r.Name {
			x.Ran = append(x.Ran, RecipeRun{e.ID, e.Scale, e.State})
		}
	}
	return x
}

func recipePlan(r recipe.Recipe, scale string, set map[string]string) (plan.Plan, []plan.Variant, error) {
	p, err := plan.Parse(r.Text, plan.Options{
		File: "recipe " + r.Name, Scale: scale, Set: set,
		Workloads: app.Workloads(), Words: PlanWords(),
	})
	if err != nil {
		return p, nil, err
	}
	vs, err := p.Variants()
	return p, vs, err
}

func scaleOf(scale string, p plan.Plan, vs []plan.Variant) Scale {
	least, most := estimate(p)
	lo, hi := p.Rounds()
	n := len(vs)
	if !p.Trials.NoControl {
		n++
	}
	x := Scale{
		Scale: scale, Variants: len(vs), Rounds: [2]int{lo, hi}, Trials: [2]int{lo * n, hi * n},
		Seconds: seconds(p.Trials.Time), Least: least.Seconds(),
		Most: most.Seconds(), Budget: seconds(p.Budget), Servers: []string{},
	}
	for _, v := range vs {
		if s := v.Config.Server; !slices.Contains(x.Servers, s) {
			x.Servers = append(x.Servers, s)
		}
	}
	return x
}

// Recipe tells what running a recipe at a scale would mean. Nothing is started.
func (l *Lab) Recipe(ctx context.Context, name, scale string, set map[string]string) (DryRun, error) {
	r, err := findRecipe(name, scale, set)
	if err != nil {
		return DryRun{}, err
	}
	ran, err := l.Experiments(ctx)
	if err != nil {
		return DryRun{}, err
	}
	p, vs, err := recipePlan(r, scale, set)
	if err != nil {
		return DryRun{}, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	r.Title, r.Topic = p.Title, p.Topic
	x := DryRun{
		Recipe: l.recipe(r, ran), Text: string(r.Text), Dry: scaleOf(scale, p, vs), Table: []Variant{},
		Show: p.Table.Show, Published: []string{},
		Missing: []string{}, Install: []string{}, Problems: []string{}, Warnings: []string{}, Disturbs: l.local(),
		Needs: Needs{Servers: []string{}},
	}
	x.Disturb = disturbance(x.Disturbs)
	for _, v := range vs {
		y := Variant{Key: v.Key}
		if v.Baseline != v.Key {
			y.Against = v.Baseline
		}
		x.Table = append(x.Table, y)
	}
	for _, q := range p.Published {
		s := q.Text
		if q.Absent != "" {
			s += " (not measured here: " + q.Absent + ")"
		}
		x.Published = append(x.Published, s)
	}
	c, err := Prepare(ctx, l.app, CompareOptions{Text: r.Text, File: "recipe " + name, Scale: scale, Set: set})
	var missing *MissingServersError
	switch {
	case errors.As(err, &missing):
		x.Missing, x.Install = append(x.Missing, missing.Specs...), append(x.Install, missing.Commands()...)
		return x, nil
	case err != nil:
		x.Problems = append(x.Problems, err.Error())
		return x, nil
	}
	x.Dry.Least, x.Dry.Most = c.Least.Seconds(), c.Most.Seconds()
	for _, s := range c.Needs.Servers {
		x.Needs.Servers = append(x.Needs.Servers, s.Spec())
	}
	x.Needs.Disk, x.Needs.DiskFree = known.Of(float64(c.Needs.Disk)), known.Of(float64(c.Needs.DiskFree))
	x.Needs.Memory, x.Needs.MemoryFree = known.Of(float64(c.Needs.Memory)), known.Of(float64(c.Needs.MemFree))
	x.Problems, x.Warnings = append(x.Problems, c.Needs.Problems...), append(x.Warnings, c.Needs.Warnings...)
	if id := (app.Stores{App: l.app}).Experimenting(); id != "" {
		x.Problems = append(x.Problems, "experiment "+id+" runs on this machine: two at a time would distort each "+
			"other's figures")
	}
	return x, nil
}

// findRecipe checks what is asked of a recipe. Of a plan only its trials, budget and the sizes of its tables can be
// changed from elsewhere: other parts of a plan may run commands of the shell.
func findRecipe(name, scale string, set map[string]string) (recipe.Recipe, error) {
	r, err := recipe.Find(name)
	var unknown *recipe.UnknownError
	if strings.ContainsAny(name, `/\`) || errors.As(err, &unknown) {
		return r, fmt.Errorf("%w: there is no recipe %q", ErrNoRecord, name)
	}
	if err != nil {
		return r, err
	}
	if !slices.Contains(recipe.Scales, scale) {
		return r, fmt.Errorf("%w: scale %q, there are %s", ErrOptions, scale, strings.Join(recipe.Scales, ", "))
	}
	for k := range set {
		if !slices.Contains(settable, k) {
			return r, fmt.Errorf("%w: %q cannot be set here, only %s; `dyno recipe run %s --set` accepts all",
				ErrOptions, k, strings.Join(settable, ", "), name)
		}
	}
	return r, nil
}

// settable are the parts of a plan that may be changed from elsewhere.
var settable = []string{
	"budget", "options.table-size", "options.tables", "threads", "trials.margin", "trials.rounds",
	"trials.seed", "trials.time", "trials.warmup",
}

// local names the watched targets that run on this machine.
func (l *Lab) local() []string {
	out := []string{}
	for _, t := range l.watched() {
		if app.OnThisMachine(t.Name, t.URL) {
			out = append(out, t.Name)
		}
	}
	return out
}

// disturbance says in words what an experiment does to what is watched.
func disturbance(targets []string) string {
	s := "It runs on this machine: private servers, and the load on them. Meanwhile Dyno's monitoring shares the " +
		"CPUs of the load client."
	if len(targets) == 0 {
		return s + " No watched target is known to run here, so watched targets are not affected."
	}
	return s + " Figures of " + strings.Join(targets, ", ") + " are affected while it runs, because they run here " +
		"too; the time is marked on their timelines."
}
