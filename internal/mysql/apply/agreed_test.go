package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestOnlyWhatWasAgreedToIsSent changes the table between the preview and the change, and asks for the way back in
// another way than shown.
func TestOnlyWhatWasAgreedToIsSent(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			a := finding.Action{
				Kind: finding.AlterTable, Table: table,
				Changes: []schema.Clause{{Kind: schema.ModifyColumn, Column: "s", Definition: "varchar(120)"}},
			}
			o := Options{Blocking: true}
			agree := func() {
				t.Helper()
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, o)
				if err != nil || !p.OK() {
					t.Fatalf("%v %v", err, p.Blockers)
				}
				o.Agreed = p.Action.SQL
			}
			agree()
			j.before = func(e journal.Entry) error {
				if e.State == journal.Planned { // the last moment before Apply looks at the server itself
					s.Exec(t, "ALTER TABLE "+quoted+" MODIFY s VARCHAR(100) DEFAULT 'q'")
				}
				return nil
			}
			e, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Action: a}, o, nil, nil)
			if !errors.Is(err, ErrPreviewChanged) || !strings.Contains(err.Error(), "DEFAULT 'q'") ||
				e.State != journal.Failed || !strings.Contains(shown(t, s), "varchar(100)") {
				t.Errorf("another statement than the one agreed to: %v, %s, in\n%s", err, e.State, shown(t, s))
			}
			if kept, err := j.Entry(t.Context(), "a-1"); err != nil || kept.State != journal.Failed ||
				kept.Error == "" {
				t.Errorf("the journal has %+v, %v", kept, err)
			}
			j.before = nil
			agree()
			if e, err = Apply(t.Context(), x, j, journal.Entry{ID: "a-2", Action: a}, o, nil, nil); err != nil ||
				!strings.Contains(shown(t, s), "varchar(120)") {
				t.Fatalf("the statement agreed to: %v %s", err, e.State)
			}

			online, err := PreviewUndo(t.Context(), x, j, e, Options{})
			if err != nil || !online.OK() {
				t.Fatalf("%v %v", err, online.Blockers)
			}
			o.Agreed = online.SQL
			if _, err = Undo(t.Context(), x, j, "a-2", o, nil, nil); !errors.Is(err, ErrPreviewChanged) ||
				!strings.Contains(shown(t, s), "varchar(120)") {
				t.Errorf("taken back while writers wait, where going on was agreed to: %v, in\n%s", err, shown(t, s))
			}
			blocking, err := PreviewUndo(t.Context(), x, j, e, o)
			if err != nil || !blocking.OK() || blocking.SQL == online.SQL {
				t.Fatalf("%v %+v", err, blocking)
			}
			o.Agreed = blocking.SQL
			e, err = Undo(t.Context(), x, j, "a-2", o, nil, nil)
			if err != nil || e.State != journal.Undone || e.Action.Undo != blocking.SQL ||
				!strings.Contains(shown(t, s), "varchar(100)") {
				t.Errorf("taken back as agreed to: %v, %+v, in\n%s", err, e, shown(t, s))
			}
		})
	}
}

// TestPreviewUndoIsWhatUndoFinds: what stands against taking an action back is told before, in the same words, nothing
// is written.
func TestPreviewUndoIsWhatUndoFinds(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			e, err := Apply(t.Context(), x, j, journal.Entry{ID: "a-1", Action: adds}, Options{}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := func(what, want string) {
				t.Helper()
				j.before = func(journal.Entry) error { return errors.New("nothing is to be written") }
				alters := s.Status(t, "Com_alter_table")
				r, err := PreviewUndo(t.Context(), x, j, e, Options{})
				if err != nil || r.Entry.State != e.State || r.SQL != e.Action.Undo {
					t.Errorf("%s: %v %+v", what, err, r)
				}
				if got := strings.Join(r.Blockers, "\n"); r.OK() != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s: %q stands against it, want %q", what, got, want)
				}
				if want != "" {
					var blocked *BlockedError
					if _, err := Undo(t.Context(), x, j, "a-1", Options{}, nil, nil); !errors.As(err, &blocked) ||
						fmt.Sprint(blocked.Blockers) != fmt.Sprint(r.Blockers) {
						t.Errorf("%s: it was told %q, and undo says %v", what, r.Blockers, err)
					}
				}
				if n := s.Status(t, "Com_alter_table") - alters; n != 0 {
					t.Errorf("%s: %d ALTER TABLE were sent", what, n)
				}
			}
			f("as it was left", "")
			s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`, ADD INDEX `dyno j` (a, id)")
			f("a changed index", "the index dyno j was changed since, it is now (`a`, `id`)")
			s.Exec(t, "ALTER TABLE "+quoted+" DROP INDEX `dyno j`")
			f("an index that is gone", "no longer in effect on")
			s.Exec(t, "DROP TABLE "+quoted)
			f("a table that is gone", "no longer in effect on")
			e.State = journal.Failed
			j.before = nil
			if err := j.PutEntry(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			f("an action that failed", "it is failed, so there is nothing to undo")
			e.Server = "elsewhere"
			if _, err := PreviewUndo(t.Context(), x, j, e, Options{}); err == nil {
				t.Error("planned on another server")
			}
		})
	}
}

// TestUndoBy: who had an action taken back is told of the try that succeeded, not of one that failed.
func TestUndoBy(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, x := start(t, flavor)
			j := newJournal(t)
			f := func(id, by string) {
				t.Helper()
				if _, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: adds}, Options{},
					nil, nil); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				j.before = func(journal.Entry) error { cancel(); return nil } // the next thing is the statement
				e, err := Undo(ctx, x, j, id, Options{By: "anna"}, nil, nil)
				j.before = nil
				if err == nil || e.State != journal.Done || e.UndoBy != "anna" || e.UndoBegan.IsZero() ||
					!e.UndoneAt.IsZero() || len(indexes(t, s)) != 4 {
					t.Fatalf("cancelled: %v, %+v by %q, %v", err, e, e.UndoBy, indexes(t, s))
				}
				if e, err = Undo(t.Context(), x, j, id, Options{By: by}, nil, nil); err != nil || e.UndoBy != by ||
					len(indexes(t, s)) != 3 {
					t.Errorf("taken back by %q, want %q: %v", e.UndoBy, by, err)
				}
			}
			f("a-1", "")
			f("a-2", "bob")
			// A crash between the statement and the journal: the last that began is the one.
			e, err := j.Entry(t.Context(), "a-2")
			if err != nil {
				t.Fatal(err)
			}
			e.State = journal.Done
			if e, err = Reconcile(t.Context(), x, e); err != nil || e.State != journal.Undone || e.UndoBy != "bob" {
				t.Errorf("reconciled: %+v by %q, %v", e, e.UndoBy, err)
			}
		})
	}
}
