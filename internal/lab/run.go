package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Live is where an experiment is that this process carries out.
type Live struct {
	Task string `json:"task"`
	ID   string `json:"id,omitzero"` // of the experiment, once it has begun
	N    int    `json:"n"`           // of the trial under way
	// of the last one where several take turns; N is then the first
	Through int                  `json:"through,omitzero"`
	Most    int                  `json:"most"` // trials; fewer when variants are decided early
	Round   int                  `json:"round"`
	Variant string               `json:"variant,omitzero"` // where several take turns all of them
	Control bool                 `json:"control,omitzero"`
	Step    string               `json:"step,omitzero"`
	Left    known.Value[float64] `json:"left_seconds,omitzero"` // if no variant is decided before the last round
}

// liveLab is a Live as it is kept.
type liveLab struct {
	Live
	until time.Time // when it is over if no variant is decided before the last round; zero: not known
}

// at returns where the experiment is at a moment.
func (x *liveLab) at(now time.Time) Live {
	y := x.Live
	if !x.until.IsZero() {
		y.Left = known.Of(max(0, x.until.Sub(now).Seconds()))
	}
	return y
}

func seconds(d plan.Duration) float64 { return time.Duration(d).Seconds() }

// liveOf returns where an experiment is, nil when this process does not carry it out.
func (l *Lab) liveOf(id string) *Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.live {
		if x.ID == id && id != "" {
			y := x.at(time.Now())
			return &y
		}
	}
	return nil
}

// Live returns where the experiment of a task is.
func (l *Lab) Live(task string) (Live, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok := l.live[task]
	if !ok {
		return Live{}, false
	}
	return x.at(time.Now()), true
}

// alone makes sure that no other process carries out an experiment below this home until free is called: both would
// bind themselves to the same CPUs. The lock ends with the process, however it ends.
func alone(a *app.App) (free func() error, err error) {
	if err := os.MkdirAll(a.Home, 0o755); err != nil { // the servers' account must be able to enter
		return nil, err
	}
	if err := os.MkdirAll((app.Stores{App: a}).ExperimentsDir(), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(app.Stores{App: a}.ExperimentsDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = platform.Lock(f, true)
	if err != nil && !errors.Is(err, platform.ErrLocked) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	id, pid := app.Stores{App: a}.UnderWay() // also one of a version that knows no such lock
	switch {
	case id != "":
		err = fmt.Errorf("experiment %s (process %d) runs on this machine, and two at a time distort each other's "+
			"figures; wait for it or end it first", id, pid)
	case err != nil:
		err = errors.New("another experiment is starting or ending on this machine, and two at a time distort each " +
			"other's figures; wait for it")
	default:
		return f.Close, nil
	}
	return nil, errors.Join(err, f.Close())
}

// RunRecipe starts a recipe as a task whose result is the experiment's id. What is wrong with it is told before
// anything starts.
func (l *Lab) RunRecipe(ctx context.Context, name, scale string, set map[string]string, by string) (task.Task, error) {
	r, err := findRecipe(name, scale, set)
	if err != nil {
		return task.Task{}, err
	}
	o := CompareOptions{Text: r.Text, File: "recipe " + name, Scale: scale, Set: set}
	return l.start(ctx, task.Task{Kind: "recipe", Title: "Recipe " + name + ", " + scale, By: by}, o)
}

// Resume goes on with an experiment that was interrupted.
func (l *Lab) Resume(ctx context.Context, id, by string) (task.Task, error) {
	_, line, _, err := l.result(ctx, id, false)
	switch {
	case err != nil:
		return task.Task{}, err
	case line.State == Finished:
		return task.Task{}, fmt.Errorf("%w: %s is finished: there is nothing to resume", ErrOptions, id)
	}
	return l.start(ctx, task.Task{Kind: "experiment", Title: "Experiment " + id + ", resumed", By: by},
		CompareOptions{Resume: id})
}

func (l *Lab) start(ctx context.Context, x task.Task, o CompareOptions) (task.Task, error) {
	if id := (app.Stores{App: l.app}).Experimenting(); id != "" {
		return task.Task{}, fmt.Errorf("%w: experiment %s runs on this machine, and two at a time distort each "+
			"other's figures", task.ErrBusy, id)
	}
	c, err := Prepare(ctx, l.app, o)
	if err != nil {
		return task.Task{}, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if len(c.Needs.Problems) > 0 {
		return task.Task{}, fmt.Errorf("%w: %s", ErrOptions, strings.Join(c.Needs.Problems, "; "))
	}
	begin := make(chan *liveLab, 1)
	t, err := l.tasks.Start(x, func(ctx context.Context, sink progress.Sink, note func(string)) (string, error) {
		return l.carryOut(ctx, c, <-begin, sink, note)
	})
	if err != nil {
		return t, err
	}
	live := &liveLab{Live: Live{Task: t.ID, ID: c.o.Resume}}
	l.mu.Lock()
	l.live[t.ID] = live
	l.mu.Unlock()
	begin <- live
	return t, nil
}

// carryOut runs a prepared experiment and tells how it goes.
func (l *Lab) carryOut(ctx context.Context, c *Comparison, live *liveLab, sink progress.Sink,
	note func(string),
) (string, error) {
	change := func(f func()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
	}
	defer change(func() { delete(l.live, live.Task) })
	w := &labWatch{lab: l, c: c, live: live, change: change, sink: sink, note: note}
	note(disturbance(l.local()))
	for _, s := range c.Needs.Warnings {
		note(s + ".")
	}
	c.o.Note, c.testbed.Note = note, note
	c.o.Observer = experiment.Observer{
		Planned: w.planned, Begin: w.begin, Progress: w.progress,
		End: w.end, Judged: w.judged,
	}
	r, _, err := Compare(ctx, l.app, c)
	w.marked(context.WithoutCancel(ctx))
	if err != nil && ctx.Err() != nil && len(r.Trials) > 0 {
		note(fmt.Sprintf("Kept: %s. It can be resumed.", unit.Plural(len(r.Trials), "trial", "trials")))
	}
	if len(r.Trials) == 0 && err == nil {
		err = errors.New("run experiment: no trial completed")
	}
	return c.ID, err
}

// labWatch tells an experiment as it happens, from the goroutine that carries it out.
type labWatch struct {
	lab    *Lab
	c      *Comparison
	live   *liveLab
	change func(func())
	sink   progress.Sink
	note   func(string)
	under  []experiment.Begin // the trials under way: of a round whose trials take turns all of them
	marks  []event.Event
}

func (w *labWatch) planned(p experiment.Planned) {
	w.change(func() { w.live.ID, w.live.Most, w.live.N = w.c.ID, p.Trials, p.Done })
	s := fmt.Sprintf("Experiment %s: %d variants, %d to %d rounds, at most %d trials", w.c.ID, p.Variants,
		p.Min, p.Max, p.Trials)
	if p.Done > 0 {
		s += fmt.Sprintf(", %d of them on record", p.Done)
	}
	w.note(s + ".")
	// Who looks at the graphs of a server on this machine later must see why it was slower then.
	for _, t := range w.lab.local() {
		w.marks = append(w.marks, event.Event{
			At: time.Now(), Target: t, Kind: event.Run, Ref: w.c.ID,
			Text: "experiment " + w.c.ID + " (" + w.c.Plan.Name + ") on the same machine",
		})
	}
	w.put(context.Background())
}

// marked ends the marks on the timelines.
func (w *labWatch) marked(ctx context.Context) {
	for i := range w.marks {
		w.marks[i].Until = time.Now()
	}
	w.put(ctx)
}

func (w *labWatch) put(ctx context.Context) {
	l, err := w.lab.app.Ledger(ctx)
	for i := range w.marks {
		if err == nil && w.marks[i].ID == "" {
			w.marks[i].ID, err = l.NewID(ctx, "e")
		}
		if err == nil {
			err = l.Events.Put(ctx, w.marks[i])
		}
	}
	if err != nil {
		w.note("The experiment was not marked on the timelines: " + err.Error())
	}
}

func (w *labWatch) begin(b experiment.Begin) {
	now := time.Now()
	if n := len(w.under); n > 0 && (w.under[n-1].Round != b.Round || w.under[n-1].N+1 != b.N) {
		w.under = nil
	}
	w.under = append(w.under, b)
	first := w.under[0]
	w.change(func() {
		l := w.live
		l.N, l.Through, l.Most, l.Round, l.Variant, l.Control, l.Step = first.N, 0, first.Most, first.Round,
			first.Variant, first.Control, "setting up"
		if n := len(w.under); n > 1 {
			names := make([]string, n)
			for i, x := range w.under {
				names[i] = x.Variant + againstItself(x.Control)
			}
			l.Through, l.Variant, l.Control = b.N, strings.Join(names, ", "), false
		}
		if l.until = (time.Time{}); first.Remaining > 0 {
			l.until = now.Add(first.Remaining)
		}
	})
	w.progress(progress.Progress{Step: "setting up", Started: now, At: now})
}

// againstItself is said of a variant that stands for the second one of a baseline.
func againstItself(control bool) string {
	if control {
		return " (again, as the control)"
	}
	return ""
}

func (w *labWatch) progress(p progress.Progress) {
	now := time.Now()
	var x Live
	w.change(func() { w.live.Step, x = p.Step, w.live.at(now) })
	which := fmt.Sprintf("trial %d of at most %d, %s%s", x.N, x.Most, x.Variant, againstItself(x.Control))
	if x.Through > 0 {
		which = fmt.Sprintf("trials %d to %d of at most %d, interleaved, %s", x.N, x.Through, x.Most, x.Variant)
	}
	within, _ := p.Fraction()
	o := progress.Progress{
		Step: which + ": " + p.Step, Done: max(0, float64(x.N-1)) + within*float64(max(1, len(w.under))),
		Total: float64(max(1, x.Most)),
		Unit:  "trials", At: now,
	}
	// The experiment itself knows best how long it will take. Progress tells it by when the work would have begun at
	// that speed.
	left, ok := x.Left.Get()
	if f := o.Done / o.Total; ok && f > 0 && f < 1 {
		o.Started = o.At.Add(-time.Duration(left * f / (1 - f) * float64(time.Second)))
	} else {
		o.Total, o.Started = 0, o.At
	}
	w.sink.Report(o)
}

func (w *labWatch) end(t trial.Trial) {
	w.under = nil
	s := fmt.Sprintf("Trial %d, round %d, %s%s", t.Seq, t.Round, t.Variant, againstItself(t.Control))
	if t.Invalid != "" {
		w.note(s + ": does not count, " + t.Invalid)
		return
	}
	for i, name := range w.c.Plan.Table.Show {
		v, ok := t.Values[name]
		if !ok || i > 2 {
			continue
		}
		m := trial.MetricOf(name, w.c.Plan.Table.Unit)
		u := m.Unit
		if u == "1/s" {
			u = "" // the title tells
		}
		s += map[bool]string{true: ": ", false: ", "}[i == 0] + strings.TrimSpace(m.Title+" "+unit.Count(v)+" "+u)
	}
	w.note(s)
}

func (w *labWatch) judged(j experiment.Judged) {
	s := fmt.Sprintf("Round %d is complete", j.Round)
	if n := len(j.Closed); n > 0 {
		s += fmt.Sprintf(": %d decided, %d continue", n, len(j.Open))
	}
	w.note(cmp.Or(s, "") + ".")
}
