// Package task runs long operations that clients follow, and keeps how they end.
package task

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/state"
)

// State says how far a task got.
type State string

// The states of a task.
const (
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Task is a long-running operation of a service that clients follow.
type Task struct {
	ID       string               `json:"id"`
	Kind     string               `json:"kind"` // "diagnose", "apply", "undo", "prove", "recipe", "experiment"
	Title    string               `json:"title"`
	Target   string               `json:"target,omitzero"`
	By       string               `json:"by,omitzero"`    // who asked for it
	About    string               `json:"about,omitzero"` // id of what it works on: a finding, an action, an experiment
	State    State                `json:"state"`
	Step     string               `json:"step,omitzero"`         // what is being done
	Fraction known.Value[float64] `json:"fraction,omitzero"`     // 0 to 1
	Left     known.Value[float64] `json:"left_seconds,omitzero"` // until it ends
	Notes    []journal.Note       `json:"notes,omitempty"`       // newest last, at most 200
	Result   string               `json:"result,omitzero"`       // id of its result
	Error    string               `json:"error,omitzero"`
	Hint     string               `json:"hint,omitzero"`
	Started  time.Time            `json:"started"`
	Ended    time.Time            `json:"ended,omitzero"`
}

// Errors of tasks, for errors.Is.
var (
	// ErrBusy is the answer to a task that would get into the way of another one.
	ErrBusy = errors.New("another task is working on this target")
	// ErrUnknown is the answer to an id that no task of this process has.
	ErrUnknown = errors.New("there is no such task")
)

// Work is what a task does. It reports and says what happens on the way, and returns the id of its result.
type Work func(ctx context.Context, sink progress.Sink, note func(string)) (result string, err error)

// Bounds of tasks.
const (
	maxTasks   = 100     // that are remembered
	maxRunning = 8       // at a time
	maxNotes   = 200     // of one task
	mostText   = 4 << 10 // of one note, step or error, bytes: parts of them come from servers
	// publishEvery bounds how often progress is told to listeners; what else changes is told at once.
	publishEvery = 500 * time.Millisecond
	// endPatience is how long the end of the process waits for tasks: a server may take as long as it likes to stop a
	// change, and what it did is asked at the next start.
	endPatience = 2 * time.Minute
)

// List holds the tasks of one process. The zero value is ready.
type List struct {
	// Hint says what the user can do about the error of a task, "" when nothing is known; endpoint.HintOf when nil. It
	// is set before the first task.
	Hint func(error) string

	mu      sync.Mutex
	all     []*task // oldest first
	ended   bool    // no more are taken
	listen  []func(Task)
	running sync.WaitGroup
	// patience is how long End waits; endPatience when zero.
	patience time.Duration
}

// task is a Task at work; all but stop is guarded by List.mu.
type task struct {
	Task
	stop context.CancelFunc
	told time.Time // when listeners last heard of it
}

// reads names the kinds of task that change nothing on their target.
var reads = []string{"diagnose", "prove"}

// obstructs reports whether two tasks must not run at a time: both change the same target, or both do the same to it.
// Those without a target work on this machine, which is one target too.
func obstructs(a, b Task) bool {
	if a.Target != b.Target {
		return false
	}
	return a.Kind == b.Kind || !slices.Contains(reads, a.Kind) && !slices.Contains(reads, b.Kind)
}

// Start runs f in a goroutine that End cancels and waits for. Of x its Kind, Title, Target, By and About are taken. One
// task at a time changes a target, and one does the same thing to it: else the answer is ErrBusy, which names the other
// one.
func (b *List) Start(x Task, f Work) (Task, error) {
	ctx, stop := context.WithCancel(context.Background())
	t := &task{Task: Task{
		ID: "t-" + strings.ToLower(rand.Text()[:10]), Kind: x.Kind, Title: state.Clip(x.Title, mostText),
		Target: x.Target,
		By:     x.By, About: x.About, State: Running, Started: time.Now().UTC(),
	}, stop: stop}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		stop()
		return Task{}, errors.New("start task: Dyno is shutting down")
	}
	n := 0
	for _, o := range b.all {
		if o.State != Running {
			continue
		}
		if n++; obstructs(o.Task, t.Task) {
			stop()
			return Task{}, fmt.Errorf("%w: %s (%s, %s)", ErrBusy, o.Title, o.ID, cmp.Or(o.Step, "running"))
		}
	}
	if n >= maxRunning {
		stop()
		return Task{}, fmt.Errorf("%w: %d tasks run already; wait for one or cancel it", ErrBusy, n)
	}
	b.all = append(b.all, t)
	b.forget()
	b.tell(t)
	b.running.Go(func() {
		defer stop()
		b.work(ctx, t, f)
	})
	return t.copy(), nil
}

// work runs f and keeps how it ended.
func (b *List) work(ctx context.Context, t *task, f Work) {
	var result string
	var err error
	func() {
		defer func() {
			// A task's mistake must not end the watching of all servers.
			if p := recover(); p != nil {
				err = fmt.Errorf("the task failed: %v\n%s", p, debug.Stack())
			}
		}()
		result, err = f(ctx, b.sink(t), func(text string) { b.note(t, text) })
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Result, t.Ended = result, time.Now().UTC()
	t.Left = known.Value[float64]{}
	switch {
	case err == nil:
		t.State, t.Step, t.Fraction = Done, "", known.Of(1.0)
	case ctx.Err() != nil:
		t.State = Cancelled
	default:
		t.State = Failed
	}
	if err != nil {
		hint := b.Hint
		if hint == nil {
			hint = endpoint.HintOf
		}
		t.Error, t.Hint = state.Clip(err.Error(), mostText), state.Clip(hint(err), mostText)
	}
	b.tell(t)
}

// sink takes the progress of a task.
func (b *List) sink(t *task) progress.Sink {
	return func(p progress.Progress) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.State != Running {
			return
		}
		step := t.Step
		t.Step, t.Fraction, t.Left = state.Clip(p.Step, mostText), known.Value[float64]{}, known.Value[float64]{}
		if f, ok := p.Fraction(); ok {
			t.Fraction = known.Of(f)
		}
		if left, ok := p.Remaining(); ok {
			t.Left = known.Of(left.Seconds())
		}
		if step != t.Step || p.End || time.Since(t.told) >= publishEvery {
			b.tell(t)
		}
	}
}

func (b *List) note(t *task, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Notes = append(t.Notes, journal.Note{At: time.Now().UTC(), Text: state.Clip(text, mostText)})
	if n := len(t.Notes); n > maxNotes {
		t.Notes = slices.Clone(t.Notes[n-maxNotes:])
	}
	b.tell(t)
}

// tell hands the task as it is to the listeners, in order. The caller holds mu.
func (b *List) tell(t *task) {
	t.told = time.Now()
	for _, f := range b.listen {
		f(t.copy())
	}
}

// forget drops the oldest ended tasks beyond those that are remembered. The caller holds mu.
func (b *List) forget() {
	over := len(b.all) - maxTasks
	b.all = slices.DeleteFunc(b.all, func(t *task) bool {
		if over <= 0 || t.State == Running {
			return false
		}
		over--
		return true
	})
}

func (t *task) copy() Task {
	x := t.Task
	x.Notes = slices.Clone(x.Notes)
	return x
}

// Follow hands every change of a task to f from now on, in order. f returns quickly and asks nothing of the tasks.
func (b *List) Follow(f func(Task)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listen = append(b.listen, f)
}

// All returns the last hundred tasks of this process, newest first.
func (b *List) All() []Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Task, 0, len(b.all))
	for _, t := range slices.Backward(b.all) {
		out = append(out, t.copy())
	}
	return out
}

// Find returns one of them.
func (b *List) Find(id string) (Task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.all {
		if t.ID == id {
			return t.copy(), true
		}
	}
	return Task{}, false
}

// Cancel asks a running task to stop; it ends when it has put things in order. One that ended stays as it is. Unknown:
// ErrUnknown.
func (b *List) Cancel(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.all {
		if t.ID == id {
			t.stop()
			return nil
		}
	}
	return fmt.Errorf("cancel task %q: %w", id, ErrUnknown)
}

// End cancels every task, waits until all have ended, two minutes at most, and takes no more.
func (b *List) End() {
	b.mu.Lock()
	again := b.ended
	b.ended = true
	for _, t := range b.all {
		t.stop()
	}
	b.mu.Unlock()
	if again { // it has been waited for
		return
	}
	done := make(chan struct{})
	go func() { b.running.Wait(); close(done) }()
	patience := time.NewTimer(cmp.Or(b.patience, endPatience))
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// Changes reports whether a task changes the target now.
func (b *List) Changes(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.all, func(t *task) bool {
		return t.State == Running && t.Target == name && !slices.Contains(reads, t.Kind)
	})
}
