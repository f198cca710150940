package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/alter"
	"github.com/dyno-perf/dyno/internal/catalog"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/target"
)

// Journal keeps entries for good: when PutEntry returns nil, the entry outlives a crash.
type Journal interface {
	PutEntry(ctx context.Context, e journal.Entry) error
	Reader
}

// Reader reads the journal.
type Reader interface {
	Entry(ctx context.Context, id string) (journal.Entry, error)
	// Entries returns the latest n entries of a target, newest first; of all targets with "", and all entries with 0.
	Entries(ctx context.Context, target string, n int) ([]journal.Entry, error)
}

// writeTimeout bounds the last words in the journal after everything else was stopped, lookTimeout a look at what was
// done.
const (
	writeTimeout = 10 * time.Second
	lookTimeout  = time.Minute
)

// afterwards is the context of a look at what was done: it outlives the command that did it, but not a server that says
// nothing.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
}

// recorder keeps an entry and writes each of its states.
type recorder struct {
	j    Journal
	e    journal.Entry
	tell func(string)
}

// put writes the entry as it is. A cancelled action is written down too.
func (r *recorder) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	r.e.Error, r.e.Notes = state.Clip(r.e.Error, mostText), slices.Clone(r.e.Notes)
	for i := range r.e.Notes {
		r.e.Notes[i].Text = state.Clip(r.e.Notes[i].Text, mostText)
	}
	if err := r.j.PutEntry(ctx, r.e); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// mostText is the longest text that an entry keeps of what happened, in bytes: parts of it come from the server.
// mostNotes bounds their number.
const (
	mostText  = 4 << 10
	mostNotes = 200
)

// note adds a remark and passes it on. It is in the journal with the next put. Of too many, those in the middle go.
func (r *recorder) note(text string) {
	r.keep(text)
	if r.tell != nil {
		r.tell(state.Clip(text, mostText))
	}
}

// keep adds a remark that has been told: a preview's warning.
func (r *recorder) keep(text string) {
	if len(r.e.Notes) >= mostNotes {
		r.e.Notes = slices.Delete(slices.Clone(r.e.Notes), mostNotes/2, mostNotes/2+1)
	}
	r.e.Notes = append(r.e.Notes, journal.Note{At: time.Now().UTC(), Text: state.Clip(text, mostText)})
}

// failed writes down why an action did not happen and returns the error.
func (r *recorder) failed(ctx context.Context, err error) error {
	r.e.State, r.e.Error, r.e.Ended = journal.Failed, state.Clip(err.Error(), mostText), time.Now().UTC()
	return errors.Join(err, r.put(ctx))
}

// Apply carries out the action of an entry that has an id. The journal has the entry before the first statement is
// sent, and the preflight of PreviewChange is made once more, because the server may have changed since the preview:
// what it finds against the action stops it with a *BlockedError, and a statement that is not Options.Agreed with
// ErrPreviewChanged. The returned entry is Done only when the server
// was seen changed afterwards; a note says where it made something else of it than was asked for. The statements are
// made from the action's fields; the entry's action is completed with them and with what an undo needs. note, which may
// be nil, gets a line for whatever happens on the way.
func Apply(ctx context.Context, t *target.Target, j Journal, e journal.Entry, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	switch {
	case e.ID == "":
		return e, errors.New("apply action: the entry has no id")
	case e.State != "" && e.State != journal.Planned:
		return e, fmt.Errorf("apply action %s: it is already %s", e.ID, e.State)
	case e.Server != "" && e.Server != t.Facts().Server:
		return e, wrongServer(e, t)
	}
	if _, err := changeOf(e.Action, o); err != nil { // one that cannot be carried out gets no entry
		return e, fmt.Errorf("apply action %s: %w", e.ID, err)
	}
	r := &recorder{j, e, note}
	r.e.Server, r.e.State = t.Facts().Server, journal.Planned
	if r.e.URL == "" {
		r.e.URL = t.Spec().URL()
	}
	if r.e.Target == "" {
		r.e.Target = t.String()
	}
	if r.e.Planned.IsZero() {
		r.e.Planned = time.Now().UTC()
	}
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: nothing was sent: %w", e.ID, err)
	}
	o.Journal = j
	p, c, err := previewChange(ctx, t, r.e.Action, o)
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
	if err := c.apply(ctx, t, report, r.note); err != nil {
		if unsure(ctx, t, c, err) { // the truth is on the server: Reconcile asks it
			r.note(err.Error())
			return r.e, errors.Join(fmt.Errorf("apply action %s: %w", e.ID, err), r.put(ctx))
		}
		command := ""
		if r.e.Finding != "" {
			command = "apply " + r.e.Target + " " + r.e.Finding
		}
		return r.e, r.failed(ctx, lost(fmt.Errorf("apply action %s: %w", e.ID, err), command, o))
	}
	if after, ok := c.(interface{ applied() finding.Action }); ok { // what the server made of it
		r.e.Action = after.applied()
	}
	look, cancel := afterwards(ctx)
	defer cancel()
	switch is, now, err := c.compare(look, t); {
	case err != nil:
		r.note("the statement succeeded, but the " + c.subject() + " could not be checked: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("apply action %s: verify: %w", e.ID, err), r.put(ctx))
	case is == other: // it is not as before, so the way back stays open
		r.note("the statement succeeded, but the " + c.subject() + " is not as requested: " + now)
	case is != inForce:
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: the server reported success, but the change of the %s "+
			"is %s %s", e.ID, c.subject(), is, now))
	}
	r.e.State, r.e.Ended = journal.Done, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: the change was made, but %w", e.ID, err)
	}
	return r.e, nil
}

// lost adds to the error of a change whose long build the server threw away how to have it made again.
func lost(err error, command string, o Options) error {
	if alter.BuiltOf(err) == 0 || command == "" {
		return err
	}
	if o.Blocking {
		command += " --blocking"
	}
	return fmt.Errorf("%w; to build it again: dyno %s --execute", err, command)
}

// unsure reports whether an action that ended with an error may be in force all the same: it is not written down as
// failed then, which would close the way back.
func unsure(ctx context.Context, t *target.Target, c change, err error) bool {
	switch alter.WhyOf(err) {
	case alter.Lost:
		return true
	case "": // no error of an ALTER, which the server would have taken back
		if errors.Is(err, errTaken) || target.KindOf(err) == endpoint.Gone {
			return true
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		is, _, ferr := c.compare(ctx, t)
		return ferr != nil || is != asWas && is != nowhere
	default:
		return target.KindOf(err) == endpoint.Gone
	}
}

// UndoPreview is what undoing an action would do on the server as it is now.
type UndoPreview struct {
	Entry    journal.Entry `json:"entry"`              // as the server shows it, which may differ from the journal after a crash
	SQL      string        `json:"sql"`                // as it would be sent
	Warnings []string      `json:"warnings,omitempty"` // warnings to read first
	Blockers []string      `json:"blockers,omitempty"` // it is blocked while one of them holds
}

// OK reports whether nothing stands against it.
func (r UndoPreview) OK() bool { return len(r.Blockers) == 0 }

// PreviewUndo asks the server and the journal what taking the action of an entry back would mean. It only reads. What
// stands against it is in UndoPreview.Blockers; an error means that the question could not be answered.
func PreviewUndo(ctx context.Context, t *target.Target, j Reader, e journal.Entry, o Options) (UndoPreview, error) {
	r, _, err := previewUndo(ctx, t, j, e, o)
	return r, err
}

// previewUndo returns the entry as far as it was reconciled also with an error.
func previewUndo(
	ctx context.Context, t *target.Target, j Reader, e journal.Entry, opt Options,
) (UndoPreview, change, error) {
	r := UndoPreview{Entry: e, SQL: e.Action.Undo}
	if e.Server != t.Facts().Server {
		return r, nil, wrongServer(e, t)
	}
	if err := t.Pin(ctx); err != nil {
		return r, nil, err
	}
	if e.State == journal.Running || e.State == journal.Planned || e.State == journal.Done {
		var err error
		if r.Entry, err = Reconcile(ctx, t, e); err != nil {
			return r, nil, err
		}
	}
	var p Preview
	o := objections{&p}
	switch {
	case r.Entry.State == journal.Running:
		o.block("the server is still working on it: wait until it is done")
	case r.Entry.State != journal.Done:
		o.block("it is %s, so there is nothing to undo", r.Entry.State)
	case r.SQL == "":
		o.block("it left nothing to undo")
	}
	r.Blockers = p.Blockers
	if !r.OK() {
		return r, nil, nil
	}
	c, err := changeOf(r.Entry.Action, opt)
	if err != nil {
		return r, nil, err
	}
	if b, ok := c.(interface{ reverse() string }); ok {
		r.SQL = b.reverse()
	}
	switch is, now, err := c.compare(ctx, t); {
	case err != nil:
		return r, nil, err
	case is == other:
		o.block("%s: undo it by hand if it should go", ended(c, is, now))
	case is != inForce:
		o.block("%s", ended(c, is, now))
	default:
		if err = c.checkRevert(ctx, t, o); err == nil {
			err = checkAdded(ctx, t, j, r.Entry, o)
		}
		if err != nil {
			return r, nil, err
		}
	}
	r.Warnings, r.Blockers = p.Warnings, p.Blockers
	return r, c, nil
}

// unmarked reports whether the server looks the same after a change as before: only the answer to its statement tells
// that it was made.
func unmarked(c change) bool {
	x, ok := c.(*alterTable)
	return ok && rebuilt(x.a.Changes)
}

// ended says what a server shows where a change is no longer in force.
func ended(c change, is standing, now string) string {
	if is == other {
		return fmt.Sprintf("the %s was changed since, it is now %s", c.subject(), now)
	}
	return fmt.Sprintf("the change of the %s is no longer in effect%s", c.subject(), on(c))
}

// InForce asks the server whether an action that was carried out and completed is in force still. It returns what the
// server shows instead, and "" while it is in force or when nothing can tell: a rebuild leaves no mark, the kernel of
// another machine is not seen, nor is a table that the account may only watch the traffic of. It only reads.
func InForce(ctx context.Context, t *target.Target, a finding.Action, o Options) (instead string, err error) {
	c, err := changeOf(a, o)
	if err != nil {
		return "", err
	}
	if _, kernel := c.(*setKernel); kernel {
		if _, local := t.LocalPID(ctx); !local {
			return "", nil
		}
	}
	if a.Table.Table != "" {
		seen, err := catalog.Tables(ctx, t.DB(), []schema.Ref{a.Table})
		if err != nil || len(seen) == 0 {
			return "", t.Wrap("look for table "+a.Table.String(), err)
		}
	}
	is, now, err := c.compare(ctx, t)
	if err != nil || is == inForce {
		return "", err
	}
	if x, ok := c.(*alterTable); ok && is == other { // the rest of the table may have changed
		if shows, err := x.shows(ctx, t); err != nil || shows {
			return "", err
		}
	}
	return ended(c, is, now), nil
}

// Undo takes back the action of an entry, if the server is still as the action left it, on the server where it was
// carried out and on no other. What a crash left half-way is reconciled first, and what PreviewUndo finds against it
// stops it with a *BlockedError, as a statement that is not Options.Agreed does with ErrPreviewChanged.
func Undo(ctx context.Context, t *target.Target, j Journal, id string, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	e, err := j.Entry(ctx, id)
	if err != nil {
		return e, fmt.Errorf("undo action %s: %w", id, err)
	}
	if e.Server != t.Facts().Server {
		return e, wrongServer(e, t)
	}
	p, c, err := previewUndo(ctx, t, j, e, o)
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
	if err := c.revert(ctx, t, report, r.note); err != nil {
		err = lost(err, "undo "+id, o)
		r.note("undo failed: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("undo action %s: %w", id, err), r.put(ctx))
	}
	look, cancel := afterwards(ctx)
	defer cancel()
	if is, now, err := c.compare(look, t); err != nil || is != asWas {
		if err == nil {
			err = fmt.Errorf("the server reported success, but the change of the %s is %s %s", c.subject(), is, now)
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

// on says where a change to a table stands.
func on(c change) string {
	if c.table().Table == "" {
		return ""
	}
	return " on " + c.table().String()
}

// Reconcile asks the server what became of an entry that was left half-way, and returns the entry as it truly is. It
// changes nothing, not even the journal.
func Reconcile(ctx context.Context, t *target.Target, e journal.Entry) (journal.Entry, error) {
	if e.Server != t.Facts().Server {
		return e, wrongServer(e, t)
	}
	c, err := changeOf(e.Action, Options{})
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	r := &recorder{e: e}
	now := time.Now().UTC()
	busy := false
	if c.table().Table != "" {
		if busy, err = running(ctx, t, c.table()); err != nil {
			return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
		}
	}
	if busy && e.State != journal.Planned { // a table that is being changed may not be described
		if e.State == journal.Running {
			r.note("the server is still working on it")
		}
		return r.e, nil
	}
	is, found, err := c.compare(ctx, t)
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	switch e.State {
	case journal.Planned:
		r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted before anything was sent"
	case journal.Running:
		switch {
		case unmarked(c):
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and whether it was made is "+
				"unknown: it leaves no trace; nothing has to be undone"
		case is == inForce:
			r.e.State, r.e.Ended = journal.Done, now
			r.note("it was interrupted, but the server has made the change of the " + c.subject())
		case is == other:
			a, its := e.Action, false
			if x, ok := c.(adjusting); ok {
				if a, its, err = x.adjusted(ctx, t); err != nil {
					return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
				}
			}
			if its {
				r.e.Action, r.e.State, r.e.Ended = a, journal.Done, now
				r.note("it was interrupted, and the " + c.subject() + " is neither as before nor as requested: the " +
					"server may have changed it: " + found)
				break
			}
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the "+c.subject()+
				" is different: "+found+"; undo that by hand if it should go"
		default:
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the server has not made "+
				"the change of the "+c.subject()
		}
	case journal.Failed, journal.Undone: // these are ends
	case journal.Done:
		if !e.UndoBegan.IsZero() && is == asWas {
			r.e.State, r.e.UndoneAt = journal.Undone, now
			r.note("the undo was interrupted, but the change is undone")
		}
	}
	return r.e, nil
}

func wrongServer(e journal.Entry, t *target.Target) error {
	return fmt.Errorf("action %s belongs to the server %s, and %s is %s: nothing was changed", e.ID,
		e.Server, t, t.Facts().Server)
}

// likeness says how an index on the server compares with the one of an action.
type likeness string

const (
	same    likeness = "there"
	gone    likeness = "not there"
	changed likeness = "another one"
)

// present looks for the action's index, by name and by key.
func present(ctx context.Context, t *target.Target, a finding.Action) (likeness, schema.Index, error) {
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{a.Table})
	if err != nil {
		return "", schema.Index{}, t.Wrap("look for the index", err)
	}
	if len(tables) == 1 {
		for _, x := range tables[0].Indexes {
			if !strings.EqualFold(x.Name, a.Index.Name) {
				continue
			}
			if sameOn(t, x, a.Index) {
				return same, x, nil
			}
			return changed, x, nil
		}
	}
	return gone, schema.Index{}, nil
}

// sameOn compares an index as the server shows it with the one that was asked for: what an old server ignores does not
// count, and the server writes expressions in its own way.
func sameOn(t *target.Target, have, want schema.Index) bool {
	if len(have.Parts) != len(want.Parts) {
		return false
	}
	have.Parts, want.Parts = append([]schema.IndexPart{}, have.Parts...), append([]schema.IndexPart{}, want.Parts...)
	for i := range have.Parts {
		h, w := &have.Parts[i], &want.Parts[i]
		if !t.Has(target.HasDescendingIndex) {
			h.Desc, w.Desc = false, false
		}
		if h.Expr != "" && w.Expr != "" {
			h.Expr, w.Expr = "", ""
		}
	}
	return schema.SameKey(have, want)
}

// running reports whether an ALTER of Dyno's own is at work on the table: anyone can write its tag and its text.
// Without the privilege PROCESS only the account's own sessions are seen, which is enough.
func running(ctx context.Context, t *target.Target, table schema.Ref) (bool, error) {
	// The text may be as long as max_allowed_packet.
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", "SELECT ID, IFNULL(USER, ''), IFNULL(HOST, "+
		"''), LEFT(INFO, 4096)"+
		" FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO IS NOT NULL"))
	if err != nil {
		return false, t.Wrap("look for the change", err)
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var id uint64
		var user, host, info string
		if err := rows.Scan(&id, &user, &host, &info); err != nil {
			return false, t.Wrap("look for the change", err)
		}
		_, statement, _ := strings.Cut(info, " */ ")
		found = found || sqltext.Own(info) && strings.HasPrefix(statement, "ALTER TABLE "+table.SQL()+" ") &&
			t.Owns(id, user, host)
	}
	return found, t.Wrap("look for the change", rows.Err())
}
