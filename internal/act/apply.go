package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dyno/internal/alter"
	"dyno/internal/catalog"
	"dyno/internal/finding"
	"dyno/internal/journal"
	"dyno/internal/progress"
	"dyno/internal/schema"
	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// Journal keeps entries for good: when PutEntry returns nil, the entry outlives a crash.
type Journal interface {
	PutEntry(ctx context.Context, e journal.Entry) error
	Entry(ctx context.Context, id string) (journal.Entry, error)
}

// writeTimeout bounds the last words in the journal after everything else was stopped.
const writeTimeout = 10 * time.Second

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
	if err := r.j.PutEntry(ctx, r.e); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// note adds a remark and passes it on. It is in the journal with the next put.
func (r *recorder) note(text string) {
	r.e.Notes = append(r.e.Notes, journal.Note{At: time.Now().UTC(), Text: text})
	if r.tell != nil {
		r.tell(text)
	}
}

// failed writes down why an action did not happen and returns the error.
func (r *recorder) failed(ctx context.Context, err error) error {
	r.e.State, r.e.Error, r.e.Ended = journal.Failed, err.Error(), time.Now().UTC()
	return errors.Join(err, r.put(ctx))
}

// Apply carries out the action of an entry that has an id. The journal has the entry before the first statement is sent, and the
// preflight of Plan is made once more: what it finds against the action stops it with a *BlockedError. The returned entry is Done only
// when the index was seen on the server afterwards. The statements are made from the action's table and index; the entry's SQL and Undo
// are set to them. note, which may be nil, gets a line for whatever happens on the way.
func Apply(ctx context.Context, t *target.Target, j Journal, e journal.Entry, report progress.Sink, note func(string)) (journal.Entry, error) {
	switch {
	case e.ID == "":
		return e, errors.New("apply action: the entry has no id")
	case e.State != "" && e.State != journal.Planned:
		return e, fmt.Errorf("apply action %s: it is %s already", e.ID, e.State)
	case e.Server != "" && e.Server != t.Facts().Server:
		return e, wrongServer(e, t)
	case e.Action.Kind != finding.AddIndex:
		return e, fmt.Errorf("apply action %s: unknown kind %q", e.ID, e.Action.Kind)
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
	r.e.Action.SQL, r.e.Action.Undo = addition(e.Action).Statement(), removal(e.Action).Statement()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: nothing was sent: %w", e.ID, err)
	}
	p, err := plan(ctx, t, r.e.Action)
	if err == nil && !p.OK() {
		err = &BlockedError{p.Blockers}
	}
	if err != nil {
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: %w", e.ID, err))
	}
	for _, w := range p.Warnings { // the preview has told them
		r.e.Notes = append(r.e.Notes, journal.Note{At: time.Now().UTC(), Text: w})
	}
	r.e.State, r.e.Started = journal.Running, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: nothing was sent: %w", e.ID, err)
	}
	if err := alter.Native(ctx, t, addition(r.e.Action), report, r.note); err != nil {
		if alter.WhyOf(err) == alter.Lost { // the truth is on the server: Reconcile asks it
			r.note(err.Error())
			return r.e, errors.Join(fmt.Errorf("apply action %s: %w", e.ID, err), r.put(ctx))
		}
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: %w", e.ID, err))
	}
	switch is, _, err := present(context.WithoutCancel(ctx), t, r.e.Action); {
	case err != nil:
		r.note("the statement succeeded, but the index could not be looked for: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("apply action %s: verify: %w", e.ID, err), r.put(ctx))
	case is != same:
		return r.e, r.failed(ctx, fmt.Errorf("apply action %s: the server reported success, but the index is %s", e.ID, is))
	}
	r.e.State, r.e.Ended = journal.Done, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("apply action %s: the index was added, but %w", e.ID, err)
	}
	return r.e, nil
}

const undoBegan = "taking it back began"

// Undo takes back the action of an entry: it drops the index, if it is still the one that was added, on the server where it was added
// and on no other. An entry that a crash left Running is reconciled first.
func Undo(ctx context.Context, t *target.Target, j Journal, id string, report progress.Sink, note func(string)) (journal.Entry, error) {
	e, err := j.Entry(ctx, id)
	if err != nil {
		return e, fmt.Errorf("undo action %s: %w", id, err)
	}
	if e.Server != t.Facts().Server {
		return e, wrongServer(e, t)
	}
	r := &recorder{j, e, note}
	if e.State == journal.Running || e.State == journal.Planned {
		if r.e, err = Reconcile(ctx, t, e); err != nil {
			return e, fmt.Errorf("undo action %s: %w", id, err)
		}
		if err := r.put(ctx); err != nil {
			return r.e, fmt.Errorf("undo action %s: %w", id, err)
		}
	}
	if r.e.State != journal.Done {
		return r.e, fmt.Errorf("undo action %s: it is %s, so there is nothing to take back", id, r.e.State)
	}
	switch is, found, err := present(ctx, t, r.e.Action); {
	case err != nil:
		return r.e, fmt.Errorf("undo action %s: %w", id, err)
	case is == gone:
		return r.e, fmt.Errorf("undo action %s: the index %s is no longer on %s: nothing was changed", id, r.e.Action.Index.Name, r.e.Action.Table)
	case is == changed:
		return r.e, fmt.Errorf("undo action %s: the index %s was changed since, it is now (%s): nothing was changed; drop it by hand if it should go",
			id, r.e.Action.Index.Name, schema.PartsSQL(found.Parts))
	}
	var blockers []string
	block := func(format string, args ...any) { blockers = append(blockers, fmt.Sprintf(format, args...)) }
	if err := server(ctx, t, r.e.Action.Table, block, func(string, ...any) {}); err != nil {
		return r.e, fmt.Errorf("undo action %s: %w", id, err)
	}
	if len(blockers) > 0 {
		return r.e, fmt.Errorf("undo action %s: %w", id, &BlockedError{blockers})
	}
	r.note(undoBegan)
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("undo action %s: nothing was sent: %w", id, err)
	}
	if err := alter.Native(ctx, t, removal(r.e.Action), report, r.note); err != nil {
		r.note("taking it back failed: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("undo action %s: %w", id, err), r.put(ctx))
	}
	if is, _, err := present(context.WithoutCancel(ctx), t, r.e.Action); err != nil || is != gone {
		if err == nil {
			err = fmt.Errorf("the server reported success, but the index is %s", is)
		}
		r.note("taking it back could not be verified: " + err.Error())
		return r.e, errors.Join(fmt.Errorf("undo action %s: %w", id, err), r.put(ctx))
	}
	r.e.State, r.e.UndoneAt = journal.Undone, time.Now().UTC()
	if err := r.put(ctx); err != nil {
		return r.e, fmt.Errorf("undo action %s: the index was dropped, but %w", id, err)
	}
	return r.e, nil
}

// Reconcile asks the server what became of an entry that was left half-way, and returns the entry as it truly is. It changes nothing,
// not even the journal.
func Reconcile(ctx context.Context, t *target.Target, e journal.Entry) (journal.Entry, error) {
	if e.Server != t.Facts().Server {
		return e, wrongServer(e, t)
	}
	r := &recorder{e: e}
	now := time.Now().UTC()
	busy, err := running(ctx, t, e.Action.Table)
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	is, found, err := present(ctx, t, e.Action)
	if err != nil {
		return e, fmt.Errorf("reconcile action %s: %w", e.ID, err)
	}
	switch e.State {
	case journal.Planned:
		r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted before anything was sent"
	case journal.Running:
		switch {
		case busy:
			r.note("the server is still at it")
		case is == same:
			r.e.State, r.e.Ended = journal.Done, now
			r.note("it was interrupted, but the server has the index")
		case is == changed:
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the index of that name is another one: ("+schema.PartsSQL(found.Parts)+")"
		default:
			r.e.State, r.e.Ended, r.e.Error = journal.Failed, now, "it was interrupted, and the server has no such index"
		}
	case journal.Failed, journal.Undone: // these are ends
	case journal.Done:
		began := len(e.Notes) > 0 && e.Notes[len(e.Notes)-1].Text == undoBegan
		if began && is == gone && !busy {
			r.e.State, r.e.UndoneAt = journal.Undone, now
			r.note("taking it back was interrupted, but the index is gone")
		}
	}
	return r.e, nil
}

func wrongServer(e journal.Entry, t *target.Target) error {
	return fmt.Errorf("action %s belongs to the server %s, and %s is %s: nothing was changed", e.ID, e.Server, t, t.Facts().Server)
}

// state says how an index on the server compares with the one of an action.
type state string

const (
	same    state = "there"
	gone    state = "not there"
	changed state = "another one"
)

// present looks for the action's index, by name and by key.
func present(ctx context.Context, t *target.Target, a finding.Action) (state, schema.Index, error) {
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

// sameOn compares an index as the server shows it with the one that was asked for: what an old server ignores does not count, and the
// server writes expressions in its own way.
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

// running reports whether an ALTER of Dyno's own is at work on the table. Without the privilege PROCESS only the account's own
// sessions are seen, which is enough.
func running(ctx context.Context, t *target.Target, table schema.Ref) (bool, error) {
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("act", "", "SELECT INFO FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO IS NOT NULL"))
	if err != nil {
		return false, t.Wrap("look for the change", err)
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var info string
		if err := rows.Scan(&info); err != nil {
			return false, t.Wrap("look for the change", err)
		}
		found = found || sqltext.Own(info) && strings.Contains(info, "ALTER TABLE "+table.SQL()+" ")
	}
	return found, t.Wrap("look for the change", rows.Err())
}
