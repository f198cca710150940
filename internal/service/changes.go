package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
)

// unknownUser stands for the user of a web UI that does not know who uses it.
const unknownUser = "an unknown user"

var (
	// ErrPreviewChanged is the answer to a change that would now be another one than the one that was agreed to.
	ErrPreviewChanged = change.ErrPreviewChanged
	// ErrNothingToProve is the answer to a proof of an action that is not in effect.
	ErrNothingToProve = errors.New("there is nothing to prove")
)

// JournalAction is an action of the journal with its context.
type JournalAction struct {
	journal.Entry
	Text string `json:"text"`          // what it did, or was to do, in a few words
	Task string `json:"task,omitzero"` // id of the task that works on it now
	// for an entry that is not ended and that no task here works on: what that means and what to do
	Open string `json:"open,omitzero"`
}

// ChangeDetail is one action with its events and proofs.
type ChangeDetail struct {
	JournalAction
	Title  string        `json:"title,omitzero"` // of the finding that suggested it
	Events []event.Event `json:"events"`
	Proofs []ProofShort  `json:"proofs"` // newest first
}

// ProofShort is a proof without its charts.
type ProofShort struct {
	ID       string               `json:"id"`
	At       time.Time            `json:"at"`
	From     time.Time            `json:"from"`
	To       time.Time            `json:"to"`
	Sentence string               `json:"sentence"`
	Measures []report.Measure     `json:"measures"`
	Classes  []report.ClassChange `json:"classes"`
	Warnings []string             `json:"warnings"`
	// Live is the proof on windows of live traffic; missing when two single windows were compared.
	Live *proof.Live `json:"live,omitempty"`
}

// Changes are the actions on targets: what was done, and what is to be done or taken back. Each works in a task.
type Changes struct {
	app    app.Actions
	ledger *ledger.Ledger
	tasks  *task.List
	fleet  *Fleet
}

// Journal returns the actions on a target, of all with "", newest first.
func (s *Changes) Journal(ctx context.Context, name string, n int) ([]JournalAction, error) {
	es, err := s.ledger.Entries(ctx, name, n)
	out := make([]JournalAction, len(es))
	for i, e := range es {
		out[i] = s.change(e)
	}
	return out, err
}

func (s *Changes) change(e journal.Entry) JournalAction {
	c := JournalAction{Entry: e, Text: report.ActionDone(e.Action)}
	if e.State != journal.Done && e.State != journal.Undone {
		c.Text = report.ActionText(e.Action)
	}
	if e.State == journal.Failed {
		c.Text = "failed: " + c.Text
	}
	for _, t := range s.tasks.All() {
		if t.State == task.Running && t.Target == e.Target && (t.Kind == "apply" && applies(t, e) ||
			t.Kind == "undo" && t.About == e.ID) {
			c.Task = t.ID
		}
		if t.State == task.Running && t.Kind == "prove" && t.About == e.ID && c.Task == "" {
			c.Task = t.ID
		}
	}
	if c.Task == "" && (e.State == journal.Running || e.State == journal.Planned) {
		c.Open = "No task of this process works on it: either `dyno apply` runs elsewhere, or it was interrupted. " +
			"Preview the undo: that asks the server for its state, and changes nothing."
	}
	return c
}

// applies reports whether a task that carries a change out is at work on an entry: one that was interrupted before is
// not its own.
func applies(t task.Task, e journal.Entry) bool {
	return (e.State == journal.Planned || e.State == journal.Running) && e.Finding == t.About &&
		!e.Planned.Before(t.Started)
}

// ChangeOf returns one action. Unknown: ledger.ErrNotFound.
func (s *Changes) ChangeOf(ctx context.Context, id string) (ChangeDetail, error) {
	e, err := s.ledger.Entry(ctx, id)
	if err != nil {
		return ChangeDetail{}, err
	}
	d := ChangeDetail{JournalAction: s.change(e), Events: []event.Event{}, Proofs: []ProofShort{}}
	if e.Before != "" {
		if x, err := s.ledger.Diagnoses.Get(ctx, e.Before); err == nil {
			for _, f := range x.Findings {
				if f.ID == e.Finding {
					d.Title = f.Title
				}
			}
		}
	}
	es, err := s.ledger.Events.List(ctx, e.Target, e.Planned, time.Time{})
	if err != nil {
		return d, err
	}
	for _, x := range es {
		if x.Ref == id {
			d.Events = append(d.Events, x)
		}
	}
	docs, err := s.ledger.Documents.About(ctx, string(report.Proof), id)
	if err != nil {
		return d, err
	}
	for _, x := range docs {
		r, err := report.Decode(x.JSON)
		if err != nil {
			continue
		}
		d.Proofs = append(d.Proofs, ProofShort{
			r.ID, r.At, r.From, r.To, r.Sentence, r.Measures, r.Classes, r.Warnings, r.Live,
		})
	}
	return d, nil
}

// PreviewChange asks the server what carrying out a finding's change would mean. It only reads.
func (s *Changes) PreviewChange(ctx context.Context, name, findingID string, o change.Options) (app.Intent, error) {
	t, err := s.fleet.open(ctx, name)
	if err != nil {
		return app.Intent{}, err
	}
	defer t.Close()
	return s.app.PreviewChange(ctx, t, findingID, o)
}

// ApplyChange carries a finding's change out in a task, if it is still the one whose SQL is confirm: else
// ErrPreviewChanged. What stands against it is an *change.BlockedError.
func (s *Changes) ApplyChange(ctx context.Context, name, findingID, confirm, by string,
	o change.Options,
) (task.Task, error) {
	t, err := s.fleet.open(ctx, name)
	if err != nil {
		return task.Task{}, err
	}
	in, err := s.app.PreviewChange(ctx, t, findingID, o)
	switch { // change.Apply checks both again; here they are the request's answer, not only the task's
	case err != nil:
	case in.Preview.Action.SQL != confirm:
		err = fmt.Errorf("%w: it would be %s; review it again", ErrPreviewChanged, in.Preview.Action.SQL)
	case !in.Preview.OK():
		err = &change.BlockedError{Blockers: in.Preview.Blockers}
	}
	if err != nil {
		return task.Task{}, errors.Join(err, t.Close())
	}
	in.By = cmp.Or(by, unknownUser)
	x, err := s.tasks.Start(task.Task{Kind: "apply", Title: in.Preview.Words, Target: name, By: by, About: findingID},
		func(ctx context.Context, sink progress.Sink, note func(string)) (string, error) {
			defer t.Close()
			e, err := s.app.Apply(ctx, t, in, sink, note)
			return e.ID, err
		})
	if err != nil {
		return x, errors.Join(err, t.Close())
	}
	return x, nil
}

// KillSession ends a session of a target with KILL, if it is still of that user; see change.Killer. It is in the
// journal and on the timeline.
func (s *Changes) KillSession(ctx context.Context, name string, session uint64, user,
	by string,
) (journal.Entry, error) {
	t, err := s.fleet.open(ctx, name)
	if err != nil {
		return journal.Entry{}, err
	}
	defer t.Close()
	id, err := s.ledger.NewID(ctx, ledger.ActionID)
	if err != nil {
		return journal.Entry{}, err
	}
	e := journal.Entry{ID: id, Target: name, By: cmp.Or(by, unknownUser)}
	e, err = s.app.Kill(ctx, t, e, change.Session{ID: session, User: user})
	if e.State != journal.Done {
		return e, err
	}
	return e, errors.Join(err, s.app.Mark(ctx, event.Event{
		At: e.Started, Until: e.Ended, Target: name,
		Kind: event.Action, Text: e.Action.SQL, Ref: e.ID,
	}))
}

// PreviewUndo asks the server what taking an action back would mean. It changes nothing, not even the journal.
func (s *Changes) PreviewUndo(ctx context.Context, id string, o change.Options) (change.UndoPreview, error) {
	e, err := s.ledger.Entry(ctx, id)
	if err != nil {
		return change.UndoPreview{}, err
	}
	t, err := s.app.OpenEntry(ctx, e, s.fleet.login(e.Target))
	if err != nil {
		return change.UndoPreview{}, err
	}
	defer t.Close()
	return s.app.PreviewUndo(ctx, t, e, o)
}

// UndoChange takes an action back in a task, if confirm is the SQL that does it.
func (s *Changes) UndoChange(ctx context.Context, id, confirm, by string, o change.Options) (task.Task, error) {
	p, err := s.PreviewUndo(ctx, id, o)
	switch {
	case err != nil:
		return task.Task{}, err
	case len(p.Blockers) > 0:
		return task.Task{}, &change.BlockedError{Blockers: p.Blockers}
	case p.SQL != confirm:
		return task.Task{}, fmt.Errorf("%w: it would be %s; review it again", ErrPreviewChanged, p.SQL)
	}
	e := p.Entry
	o.Agreed, o.By = confirm, cmp.Or(by, unknownUser)
	return s.tasks.Start(task.Task{
		Kind: "undo", Title: "Undo: " + report.ActionText(e.Action),
		Target: e.Target, By: by, About: id,
	},
		func(ctx context.Context, sink progress.Sink, note func(string)) (string, error) {
			t, err := s.app.OpenEntry(ctx, e, s.fleet.login(e.Target))
			if err != nil {
				return id, err
			}
			defer t.Close()
			_, err = s.app.Undo(ctx, t, id, o, sink, note)
			return id, err
		})
}

// ProveChange compares the traffic before and after an action, out of the history where that has both, in a task whose
// result is the id of the report. Where too little of the time after it is stored yet, the task waits for more.
func (s *Changes) ProveChange(ctx context.Context, id, by string, o family.Look) (task.Task, error) {
	e, err := s.ledger.Entry(ctx, id)
	if err != nil {
		return task.Task{}, err
	}
	if e.State != journal.Done {
		return task.Task{}, fmt.Errorf("%w: action %s is %s", ErrNothingToProve, id, e.State)
	}
	if o.Window == 0 {
		o.Window = app.DefaultWindow
	}
	return s.tasks.Start(task.Task{
		Kind: "prove", Title: "Before and after: " + report.ActionDone(e.Action),
		Target: e.Target, By: by, About: id,
	},
		func(ctx context.Context, sink progress.Sink, _ func(string)) (string, error) {
			t, err := s.app.OpenEntry(ctx, e, s.fleet.login(e.Target))
			if err != nil {
				return "", err
			}
			defer t.Close()
			o.Progress = sink
			_, doc, err := s.app.ProveAndKeep(ctx, t, e, app.Proving{Look: o, Wait: app.DefaultWait})
			if err != nil {
				return "", err
			}
			return doc.ID, nil
		})
}

// Report returns the document of any id that Dyno has printed, see app.App.Report. Unknown: ledger.ErrNotFound.
func (s *Changes) Report(ctx context.Context, id string) (*report.Document, error) {
	return app.Reports{App: s.app.App}.Report(ctx, id)
}
