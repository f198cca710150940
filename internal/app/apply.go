package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Actions are changes of servers: planned, carried out, taken back and proven, and the marks on the timeline.
type Actions struct{ *App }

// changeable is a server whose family can change it.
type changeable interface{ Changer() change.Changer }

// ChangerOf returns how a server is changed: each family has its own way.
func ChangerOf(s family.Server) (change.Changer, error) {
	x, err := family.Need[changeable](s, "make a change")
	if err != nil {
		return nil, err
	}
	return x.Changer(), nil
}

// UnknownFindingError tells that nothing that was judged of a target found that.
type UnknownFindingError struct{ Target, ID string }

func (e *UnknownFindingError) Error() string {
	return fmt.Sprintf("no diagnosis of %s holds a finding %q: run `dyno diagnose %[1]s` first and use an id that it "+
		"prints", e.Target, e.ID)
}

// Intent is a finding's change as it would be carried out, before anything is.
type Intent struct {
	Finding   finding.Finding
	Diagnosis string // id of the diagnosis that holds the finding
	Preview   change.Preview
	Options   change.Options
	By        string // who asked for it; empty for the command line
}

// PreviewChange finds the finding among the last diagnoses of the target and asks the server what carrying it out would
// mean. It only reads.
func (a Actions) PreviewChange(
	ctx context.Context, t family.Server, findingID string, o change.Options,
) (Intent, error) {
	c, err := ChangerOf(t)
	if err != nil {
		return Intent{}, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return Intent{}, err
	}
	f, d, err := l.Diagnoses.Finding(ctx, t.Spec().Name, findingID)
	if errors.Is(err, ledger.ErrNotFound) {
		return Intent{}, &UnknownFindingError{Target: t.Spec().Name, ID: findingID}
	}
	if err != nil {
		return Intent{}, err
	}
	in := Intent{Finding: f, Diagnosis: d.ID, Options: o}
	if f.Action == nil {
		return in, fmt.Errorf("finding %s suggests nothing that Dyno can apply: %s", f.ID, f.Suggestion)
	}
	server := d.Server
	if s, err := snapshotOf(d); err == nil {
		server = s.Target.Server
	}
	if now := c.Server().ID; server != "" && server != now {
		return in, fmt.Errorf("finding %s is from another server (%s) than the one that answers now (%s): "+
			"diagnose again", f.ID, server, now)
	}
	o.Journal = l
	in.Preview, err = change.PreviewChange(ctx, c, f, o)
	return in, err
}

// Apply carries the intent out, if the statement is still that of its preview: else change.ErrPreviewChanged. The
// journal has the undo before the first statement is sent. With an error the entry says how far it got: one that is
// Done was made, and only its mark on the timeline is missing.
func (a Actions) Apply(ctx context.Context, t family.Server, in Intent, sink progress.Sink,
	note func(string),
) (journal.Entry, error) {
	c, err := ChangerOf(t)
	if err != nil {
		return journal.Entry{}, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return journal.Entry{}, err
	}
	id, err := l.NewID(ctx, ledger.ActionID)
	if err != nil {
		return journal.Entry{}, err
	}
	e := journal.Entry{
		ID: id, Target: t.Spec().Name, URL: t.Spec().URL(), Finding: in.Finding.ID, Action: *in.Finding.Action,
		Planned: time.Now().UTC(), Before: in.Diagnosis, By: in.By,
	}
	o := in.Options
	o.Agreed = in.Preview.Action.SQL
	e, err = change.Apply(ctx, c, l, e, o, sink, note)
	if err != nil {
		return e, err
	}
	if err := a.Mark(ctx, event.Event{
		At: e.Started, Until: e.Ended, Target: e.Target, Kind: event.Action,
		Text: e.Action.SQL, Ref: e.ID,
	}); err != nil {
		return e, fmt.Errorf("action %s was made, but its mark on the timeline could not be written: %w; to undo: "+
			"dyno undo %[1]s", e.ID, err)
	}
	return e, nil
}

// PreviewUndo asks the server what taking the action of an entry back would mean. It changes nothing, not even the
// journal.
func (a Actions) PreviewUndo(
	ctx context.Context, t family.Server, e journal.Entry, o change.Options,
) (change.UndoPreview, error) {
	c, err := ChangerOf(t)
	if err != nil {
		return change.UndoPreview{}, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return change.UndoPreview{}, err
	}
	p, err := change.PreviewUndo(ctx, c, l, e, o)
	if err != nil {
		return change.UndoPreview{}, err
	}
	if p.Entry.State == journal.Failed && p.Entry.Error != "" {
		p.Warnings = append(p.Warnings, p.Entry.Error)
	}
	for _, n := range p.Entry.Notes[min(len(e.Notes), len(p.Entry.Notes)):] { // what asking the server brought to light
		p.Warnings = append(p.Warnings, n.Text)
	}
	if e.State != p.Entry.State {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the journal says %s; the server was asked and shows: %s",
			e.State, p.Entry.State))
	}
	return p, nil
}

// Undo takes an action back. With an error the entry says how far it got, as that of Apply does.
func (a Actions) Undo(ctx context.Context, t family.Server, id string, o change.Options, sink progress.Sink,
	note func(string),
) (journal.Entry, error) {
	c, err := ChangerOf(t)
	if err != nil {
		return journal.Entry{}, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return journal.Entry{}, err
	}
	e, err := change.Undo(ctx, c, l, id, o, sink, note)
	if err != nil {
		return e, err
	}
	if err := a.Mark(ctx, event.Event{
		At: e.UndoneAt, Target: e.Target, Kind: event.Action, Text: e.Action.Undo,
		Ref: e.ID,
	}); err != nil {
		return e, fmt.Errorf("action %s was undone, but the mark of that on the timeline could not be written: %w",
			e.ID, err)
	}
	return e, nil
}

// Kill ends a session under an entry that has an id, see change.Killer.
func (a Actions) Kill(ctx context.Context, t family.Server, e journal.Entry, s change.Session) (journal.Entry, error) {
	c, err := ChangerOf(t)
	if err != nil {
		return e, err
	}
	k, ok := c.(change.Killer)
	if !ok {
		return e, fmt.Errorf("kill session %d: this version of dyno ends no session of %s", s.ID, c.Server().Name)
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return e, err
	}
	return k.Kill(ctx, l, e, s)
}

// Entry returns an entry of the journal.
func (a Actions) Entry(ctx context.Context, id string) (journal.Entry, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return journal.Entry{}, err
	}
	e, err := l.Entry(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return e, fmt.Errorf("the journal has no action %q: `dyno undo --list` lists its actions", id)
	}
	return e, err
}

// Journal returns the actions on a target, of all with "", newest first.
func (a Actions) Journal(ctx context.Context, name string) ([]journal.Entry, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	return l.Entries(ctx, name, 0)
}

// OpenEntry connects to the server that an entry was carried out on: by the name it had then, or by its URL when that
// name is gone. That may have come over HTTP, so only a login that is named now goes there unasked.
func (a Actions) OpenEntry(ctx context.Context, e journal.Entry, login Login) (family.Server, error) {
	t, err := a.Open(ctx, e.Target, login)
	var unknown *UnknownTargetError
	if errors.As(err, &unknown) {
		login.Remote = login.DefaultsFile == "" && !login.AskPass
		return a.Open(ctx, e.URL, login)
	}
	return t, err
}

// provable checks that an action is in effect on the server that answers: else there is nothing to prove.
func provable(ctx context.Context, t family.Server, e journal.Entry) error {
	if e.State != journal.Done {
		return fmt.Errorf("action %s is %s: there is nothing to prove", e.ID, e.State)
	}
	c, err := ChangerOf(t)
	if err != nil {
		return err
	}
	if now := c.Server().Key(); e.Server != now {
		return fmt.Errorf("action %s was applied on another server (%s) than the one that answers now (%s)", e.ID,
			e.Server, now)
	}
	instead, err := change.InForce(ctx, c, e.Action, change.Options{})
	if err != nil {
		return fmt.Errorf("check whether action %s is in effect: %w", e.ID, err)
	}
	if instead != "" {
		return fmt.Errorf("action %s cannot be proven: %s", e.ID, instead)
	}
	return nil
}

// Prove looks at the target's live traffic now and compares it with the window that the action's finding was made in.
// An action that is no longer in force on the server is an error; what else Dyno did there since that window began is a
// warning.
func (a Actions) Prove(
	ctx context.Context, t family.Server, e journal.Entry, o family.Look,
) (proof.Proof, *snapshot.Snapshot, error) {
	if err := provable(ctx, t, e); err != nil {
		return proof.Proof{}, nil, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return proof.Proof{}, nil, err
	}
	d, err := l.Diagnoses.Get(ctx, e.Before)
	if err != nil {
		return proof.Proof{}, nil, fmt.Errorf("read the window before action %s: %w", e.ID, err)
	}
	before, err := snapshotOf(d)
	if err != nil {
		return proof.Proof{}, nil, err
	}
	o.Home = a.Home
	looker, err := family.Need[family.Looker](t, "prove an action")
	if err != nil {
		return proof.Proof{}, nil, err
	}
	after, err := looker.Look(ctx, o)
	if err != nil {
		return proof.Proof{}, nil, err
	}
	all, err := l.Entries(ctx, "", 0)
	if err != nil {
		return proof.Proof{}, nil, err
	}
	p := Compare(before, after, e, d.Findings)
	if ids := meanwhile(all, e, before.From); len(ids) > 0 {
		p.Warnings = append(p.Warnings, "other actions were applied or undone since the window before began ("+
			strings.Join(ids, ", ")+
			"): they may have caused the change as well")
	}
	return p, after, nil
}

// meanwhile returns the ids of the other actions on the server of e that were carried out or taken back after a time,
// oldest first. One that was begun then and interrupted counts: what became of it only the server knows.
func meanwhile(all []journal.Entry, e journal.Entry, since time.Time) (ids []string) {
	for _, x := range slices.Backward(all) { // newest first
		if x.ID == e.ID || x.Server != e.Server || x.State == journal.Planned || x.State == journal.Failed {
			continue
		}
		if x.Started.After(since) || x.Ended.After(since) || x.UndoneAt.After(since) {
			ids = append(ids, x.ID)
		}
	}
	return ids
}

// Compare sets two windows around an action side by side.
func Compare(before, after *snapshot.Snapshot, e journal.Entry, findings []finding.Finding) proof.Proof {
	var about finding.Subject
	for _, f := range findings {
		if f.ID == e.Finding {
			about = f.Subject
		}
	}
	p := proof.Compare(before, after, e.Action, about, judged(after.Target.Flavor).Dialect.Parse)
	names := FiguresOf(after.Target.Flavor).Names()
	p.Server = proof.Server(before, after, names.Statements, names.RowReads)
	return p
}

// markTime bounds the writing of what was done into the timeline.
const markTime = 10 * time.Second

// Mark puts an event of what was done on the timeline, also when whoever wanted it has gone meanwhile.
func (a Actions) Mark(ctx context.Context, e event.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	l, err := a.Ledger(ctx)
	if err != nil {
		return err
	}
	if e.ID, err = l.NewID(ctx, ledger.EventID); err != nil {
		return err
	}
	e.Text = state.Clip(e.Text, 4<<10) // names and statements of a server are in it

	return l.Events.Put(ctx, e)
}
