package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
)

// PreviewChange asks the server what carrying out the finding's action would mean. It only reads. What stands against
// it is in Preview.Blockers; an error means that the question could not be answered.
func PreviewChange(ctx context.Context, c Changer, f finding.Finding, o Options) (Preview, error) {
	if f.Action == nil {
		return Preview{}, errors.New("plan action: the finding suggests none")
	}
	p, _, err := c.Check(ctx, *f.Action, o)
	p.Finding = f.ID
	return p, err
}

// Apply carries out the action of an entry that has an id. The journal has the entry before the first statement is
// sent, and the preflight of PreviewChange is made once more, because the server may have changed since the preview:
// what it finds against the action stops it with a *BlockedError, and a statement that is not Options.Agreed with
// ErrPreviewChanged. The returned entry is Done only when the server
// was seen changed afterwards; a note says where it made something else of it than was asked for. The statements are
// made from the action's fields; the entry's action is completed with them and with what an undo needs. note, which may
// be nil, gets a line for whatever happens on the way.
func Apply(ctx context.Context, c Changer, j Journal, e journal.Entry, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	switch {
	case e.ID == "":
		return e, errors.New("apply action: the entry has no id")
	case e.State != "" && e.State != journal.Planned:
		return e, fmt.Errorf("apply action %s: it is already %s", e.ID, e.State)
	case e.Server != "" && e.Server != c.Server().Key():
		return e, wrongServer(e, c)
	}
	if _, err := c.Step(e.Action, o); err != nil { // one that cannot be carried out gets no entry
		return e, fmt.Errorf("apply action %s: %w", e.ID, err)
	}
	r := &recorder{j, e, note}
	r.e.Server, r.e.State = c.Server().Key(), journal.Planned
	if r.e.URL == "" {
		r.e.URL = c.Server().URL
	}
	if r.e.Target == "" {
		r.e.Target = c.Server().Name
	}
	if r.e.Planned.IsZero() {
		r.e.Planned = time.Now().UTC()
	}
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: nothing was sent: %w", e.ID, err)
	}
	o.Journal = j
	p, s, err := c.Check(ctx, r.e.Action, o)
	switch {
	case err != nil:
	case !p.OK():
		err = &BlockedError{p.Blockers}
	default: // the server may have changed since somebody agreed
		err = o.agreed(p.Action.SQL)
	}
	if err != nil {
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: %w", e.ID, err))
	}
	r.e.Action = p.Action
	for _, w := range p.Warnings {
		r.keep(w)
	}
	r.e.State, r.e.Started = journal.Running, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: nothing was sent: %w", e.ID, err)
	}
	if err := s.Apply(ctx, report, r.note); err != nil {
		if s.unsure(ctx, err) { // the truth is on the server: Reconcile asks it
			r.note(err.Error())
			return r.e, errors.Join(fmt.Errorf("apply action %s: %w", e.ID, err), r.put(ctx))
		}
		command := ""
		if r.e.Finding != "" {
			command = "apply " + r.e.Target + " " + r.e.Finding
		}
		return r.e, r.failed(ctx, s.lost(fmt.Errorf("apply action %s: %w", e.ID, err), command))
	}
	if s.Applied != nil { // what the server made of it
		r.e.Action = s.Applied()
	}
	look, cancel := Afterwards(ctx)
	defer cancel()
	switch is, now, err := s.Compare(look); {
	case err != nil:
		r.note("the statement succeeded, but the " + s.Subject + " could not be checked: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("apply action %s: verify: %w", e.ID, err), r.put(ctx))
	case is == Different || is == HalfDone: // it is not as before, so the way back stays open
		r.note("the statement succeeded, but the " + s.Subject + " is not as requested: " + now)
	case is != InEffect:
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: the server reported success, but the change of the %s "+
			"is %s %s", e.ID, s.Subject, is, now))
	}
	r.e.State, r.e.Ended = journal.Done, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: the change was made, but %w", e.ID, err)
	}
	return r.e, nil
}

// unsure reports whether an action that ended with an error may be in effect all the same: it is not written down as
// failed then, which would close the way back.
func (s Step) unsure(ctx context.Context, err error) bool {
	if s.Unsure != nil {
		return s.Unsure(ctx, err)
	}
	if endpoint.KindOf(err) == endpoint.Gone {
		return true
	}
	return s.Leaves(ctx)
}

// Leaves reports whether the server is not as it was before the action, or does not say.
func (s Step) Leaves(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	is, _, err := s.Compare(ctx)
	return err != nil || is != AsBefore && is != Missing
}

// lost adds to the error of an action whose work is lost how to repeat it.
func (s Step) lost(err error, command string) error {
	if s.Lost == nil || command == "" {
		return err
	}
	return s.Lost(err, command)
}

// PreviewUndo asks the server and the journal what taking the action of an entry back would mean. It only reads. What
// stands against it is in UndoPreview.Blockers; an error means that the question could not be answered.
func PreviewUndo(ctx context.Context, c Changer, j Reader, e journal.Entry, o Options) (UndoPreview, error) {
	r, _, err := previewUndo(ctx, c, j, e, o)
	return r, err
}

// previewUndo returns the entry as far as it was reconciled also with an error.
func previewUndo(
	ctx context.Context, c Changer, j Reader, e journal.Entry, opt Options,
) (UndoPreview, Step, error) {
	r := UndoPreview{Entry: e, SQL: e.Action.Undo}
	if e.Server != c.Server().Key() {
		return r, Step{}, wrongServer(e, c)
	}
	if err := c.Pin(ctx); err != nil {
		return r, Step{}, err
	}
	if e.State == journal.Running || e.State == journal.Planned || e.State == journal.Done {
		var err error
		if r.Entry, err = Reconcile(ctx, c, e); err != nil {
			return r, Step{}, err
		}
	}
	var p Preview
	switch {
	case r.Entry.State == journal.Running:
		p.Block("the server is still working on it: wait until it is done")
	case r.Entry.State != journal.Done:
		p.Block("it is %s, so there is nothing to undo", r.Entry.State)
	case r.SQL == "":
		p.Block("it left nothing to undo")
	}
	r.Blockers = p.Blockers
	if !r.OK() {
		return r, Step{}, nil
	}
	s, err := c.Step(r.Entry.Action, opt)
	if err != nil {
		return r, Step{}, err
	}
	if s.Reverse != nil {
		r.SQL = s.Reverse()
	}
	switch is, now, err := s.Compare(ctx); {
	case err != nil:
		return r, Step{}, err
	case is == Different:
		p.Block("%s: undo it by hand if it should go", s.Ended(is, now))
	case is != InEffect && is != HalfDone:
		p.Block("%s", s.Ended(is, now))
	default:
		if err = s.CheckRevert(ctx, j, r.Entry, &p); err != nil {
			return r, Step{}, err
		}
	}
	r.Warnings, r.Blockers = p.Warnings, p.Blockers
	return r, s, nil
}

// Ended says what a server shows where a change is no longer in effect.
func (s Step) Ended(is Standing, now string) string {
	if is == Different {
		return fmt.Sprintf("the %s was changed since, it is now %s", s.Subject, now)
	}
	if is == HalfDone {
		return fmt.Sprintf("the change of the %s was left half-way%s: it is %s", s.Subject, s.Place, now)
	}
	return fmt.Sprintf("the change of the %s is no longer in effect%s", s.Subject, s.Place)
}

// InForce asks the server whether an action that was carried out and completed is in effect still. It returns what the
// server shows instead, and "" while it is in effect or when nothing can tell. It only reads.
func InForce(ctx context.Context, c Changer, a finding.Action, o Options) (instead string, err error) {
	s, err := c.Step(a, o)
	if err != nil {
		return "", err
	}
	if s.Still != nil {
		return s.Still(ctx)
	}
	is, now, err := s.Compare(ctx)
	if err != nil || is == InEffect {
		return "", err
	}
	return s.Ended(is, now), nil
}

// Undo takes back the action of an entry, if the server is still as the action left it, on the server where it was
// carried out and on no other. What a crash left half-way is reconciled first, and what PreviewUndo finds against it
// stops it with a *BlockedError, as a statement that is not Options.Agreed does with ErrPreviewChanged.
func Undo(ctx context.Context, c Changer, j Journal, id string, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	e, err := j.Entry(ctx, id)
	if err != nil {
		return e, fmt.Errorf("undo action %s: %w", id, err)
	}
	if e.Server != c.Server().Key() {
		return e, wrongServer(e, c)
	}
	p, s, err := previewUndo(ctx, c, j, e, o)
	r := &recorder{j, p.Entry, note}
	if r.e.State != e.State || len(r.e.Notes) != len(e.Notes) {
		if perr := r.put(ctx); perr != nil {
			return r.e, fmt.Errorf("undo action %s: %w", id, errors.Join(err, perr))
		}
	}
	switch {
	case err != nil:
	case !p.OK():
		err = &BlockedError{p.Blockers}
	default:
		err = o.agreed(p.SQL)
	}
	if err != nil {
		return r.e, fmt.Errorf("undo action %s: %w", id, err)
	}
	r.e.Action.Undo = p.SQL
	for _, w := range p.Warnings {
		r.keep(w)
	}
	r.e.UndoBegan, r.e.UndoBy = time.Now().UTC(), o.By
	began := "undo started"
	if o.By != "" {
		began += ", requested by " + o.By + ", in the web UI"
	}
	r.note(began)
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("undo action %s: nothing was sent: %w", id, err)
	}
	if err := s.Revert(ctx, report, r.note); err != nil {
		err = s.lost(err, "undo "+id)
		r.note("undo failed: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("undo action %s: %w", id, err), r.put(ctx))
	}
	look, cancel := Afterwards(ctx)
	defer cancel()
	if is, now, err := s.Compare(look); err != nil || is != AsBefore {
		if err == nil {
			err = fmt.Errorf("the server reported success, but the change of the %s is %s %s", s.Subject, is, now)
		}
		r.note("undo could not be verified: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("undo action %s: %w", id, err), r.put(ctx))
	}
	r.e.State, r.e.UndoneAt = journal.Undone, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("undo action %s: it was undone, but %w", id, err)
	}
	return r.e, nil
}

// Reconcile asks the server what became of an entry that was left half-way, and returns the entry as it truly is. It
// changes nothing, not even the journal.
func Reconcile(ctx context.Context, c Changer, e journal.Entry) (journal.Entry, error) {
	if e.Server != c.Server().Key() {
		return e, wrongServer(e, c)
	}
	s, err := c.Step(e.Action, Options{})
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	r := &recorder{e: e}
	now := time.Now().UTC()
	busy := false
	if s.Busy != nil {
		if busy, err = s.Busy(ctx); err != nil {
			return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
		}
	}
	if busy && e.State != journal.Planned { // a table that is being changed may not be described
		if e.State == journal.Running {
			r.note("the server is still working on it")
		}
		return r.e, nil
	}
	is, found, err := s.Compare(ctx)
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	switch e.State {
	case journal.Planned:
		r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted before anything was sent"
	case journal.Running:
		switch {
		case s.Unmarked:
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and whether it was made is "+
				"unknown: it leaves no trace; nothing has to be undone"
		case is == InEffect:
			r.e.State, r.e.Ended = journal.Done, now
			r.note("it was interrupted, but the server has made the change of the " + s.Subject)
		case is == HalfDone:
			r.e.State, r.e.Ended = journal.Done, now
			r.note("it was interrupted half-way: the " + s.Subject + " is " + found + "; an undo cleans that up")
		case is == Different:
			a, its := e.Action, false
			if s.Adjusted != nil {
				if a, its, err = s.Adjusted(ctx); err != nil {
					return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
				}
			}
			if its {
				r.e.Action, r.e.State, r.e.Ended = a, journal.Done, now
				r.note("it was interrupted, and the " + s.Subject + " is neither as before nor as requested: the " +
					"server may have changed it: " + found)
				break
			}
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the "+s.Subject+
				" is different: "+found+"; undo that by hand if it should go"
		default:
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the server has not made "+
				"the change of the "+s.Subject
		}
	case journal.Failed, journal.Undone: // these are ends
	case journal.Done:
		if !e.UndoBegan.IsZero() && is == AsBefore {
			r.e.State, r.e.UndoneAt = journal.Undone, now
			r.note("the undo was interrupted, but the change is undone")
		}
	}
	return r.e, nil
}

func wrongServer(e journal.Entry, c Changer) error {
	s := c.Server()
	return fmt.Errorf("action %s belongs to the server %s, and %s is %s: nothing was changed", e.ID,
		e.Server, s.Name, s.Key())
}

// Once carries out an action that nothing undoes, under an entry that has an id: the journal has it before send is
// called, and what came of it afterwards. Nothing is checked: that is the caller's.
func Once(ctx context.Context, c Changer, j Journal, e journal.Entry, a finding.Action,
	send func(ctx context.Context) error,
) (journal.Entry, error) {
	if e.ID == "" {
		return e, errors.New("the entry has no id")
	}
	r := &recorder{j, e, nil}
	now := time.Now().UTC()
	r.e.Server, r.e.URL, r.e.State = c.Server().Key(), c.Server().URL, journal.Running
	r.e.Planned, r.e.Started = now, now
	r.e.Action = a
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("nothing was sent: %w", err)
	}
	if err := send(ctx); err != nil {
		return r.e, r.failed(ctx, err)
	}
	r.e.State, r.e.Ended = journal.Done, time.Now().UTC()
	return r.e, r.put(ctx)
}
