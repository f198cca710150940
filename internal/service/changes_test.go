package service

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/test/servers"
)

// shopChanged is a service that watches nothing, with a server in its inventory as "shop" and findings that were made
// there.
func shopChanged(t *testing.T, flavor string, actions ...finding.Action) (*servers.Server, *Service) {
	t.Helper()
	s := servers.Start(t, flavor)
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE boxes (id INT PRIMARY KEY, shelf INT, note "+
		"VARCHAR(60)) ENGINE=InnoDB")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	d := ledger.Diagnosis{ID: "d-1", At: time.Now(), Target: "shop"}
	for _, x := range actions {
		d.Findings = append(d.Findings, finding.Finding{ID: "f-" + string(x.Kind), Action: &x})
	}
	if err := v.ledger.Diagnoses.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return s, v
}

// TestWhatRunsIsWhatWasConfirmed changes the table after somebody confirmed a change and before the task that makes it
// looks at the server, and does the same to taking it back.
func TestWhatRunsIsWhatWasConfirmed(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s, v := shopChanged(t, flavor, finding.Action{
				Kind: finding.AlterTable, Table: schema.Ref{Schema: "shop", Table: "boxes"},
				Changes: []schema.Clause{{Kind: schema.ModifyColumn, Column: "note", Definition: "varchar(80)"}},
			})
			ctx := t.Context()
			between := "" // is sent once, when a task has begun and before it works
			v.Tasks.Follow(func(x task.Task) {
				if q := between; x.State == task.Running && q != "" {
					between = ""
					s.Exec(t, q)
				}
			})
			column := func() (is string) {
				t.Helper()
				if err := s.DB(t, "shop").QueryRow("SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE " +
					"TABLE_NAME = 'boxes' AND COLUMN_NAME = 'note'").Scan(&is); err != nil {
					t.Fatal(err)
				}
				return is
			}
			o := change.Options{Blocking: true}
			do := func() task.Task {
				t.Helper()
				in, err := v.Changes.PreviewChange(ctx, "shop", "f-alter_table", o)
				if err != nil || !in.Preview.OK() {
					t.Fatalf("%v %v", err, in.Preview.Blockers)
				}
				x, err := v.Changes.ApplyChange(ctx, "shop", "f-alter_table", in.Preview.Action.SQL, "ann", o)
				return finished(t, v, x, err)
			}
			between = "ALTER TABLE shop.boxes ALTER COLUMN note SET DEFAULT 'q'"
			if x := do(); x.State != task.Failed || !strings.Contains(x.Error, ErrPreviewChanged.Error()) ||
				column() != "varchar(60)" {
				t.Fatalf("%+v, the column is %s", x, column())
			}
			x := do()
			if x.State != task.Done || column() != "varchar(80)" {
				t.Fatalf("%+v, the column is %s", x, column())
			}
			id := x.Result

			undo := func(by string) task.Task {
				t.Helper()
				p, err := v.Changes.PreviewUndo(ctx, id, o)
				if err != nil || len(p.Blockers) > 0 {
					t.Fatalf("%+v %v", p, err)
				}
				x, err := v.Changes.UndoChange(ctx, id, p.SQL, by, o)
				return finished(t, v, x, err)
			}
			between = "ALTER TABLE shop.boxes ADD COLUMN more INT"
			if x := undo("ann"); x.State != task.Failed || !strings.Contains(x.Error, "was changed since") ||
				column() != "varchar(80)" {
				t.Fatalf("%+v, the column is %s", x, column())
			}
			p, err := v.Changes.PreviewUndo(ctx, id, o)
			if err != nil || len(p.Blockers) != 1 || !strings.Contains(p.Blockers[0], "was changed since") {
				t.Errorf("that the table was changed since is not shown: %+v, %v", p, err)
			}
			var blocked *change.BlockedError
			if _, err := v.Changes.UndoChange(ctx, id, p.SQL, "ann", o); !errors.As(err, &blocked) {
				t.Errorf("a task begins that cannot succeed: %v", err)
			}
			s.Exec(t, "ALTER TABLE shop.boxes DROP COLUMN more")
			if _, err := v.Changes.UndoChange(ctx, id, p.Entry.Action.SQL, "ann",
				o); !errors.Is(err, ErrPreviewChanged) {
				t.Errorf("another statement than the one shown: %v", err)
			}
			if x := undo("bob"); x.State != task.Done || column() != "varchar(60)" {
				t.Fatalf("%+v, the column is %s", x, column())
			}
			if c, err := v.Changes.ChangeOf(ctx, id); err != nil || c.State != journal.Undone ||
				c.UndoBy != "bob" || len(c.Events) != 2 {
				t.Errorf("%+v by %q, events %+v, %v", c.JournalAction, c.UndoBy, c.Events, err)
			}
		})
	}
}

// TestDoneIsMarkedWhenCancelled cancels an action after its last statement: what was done is on the timeline, and no
// failure.
func TestDoneIsMarkedWhenCancelled(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			// No server keeps so many digits: Dyno says so once it is set.
			_, v := shopChanged(t, flavor, finding.Action{
				Kind:     finding.SetVariable,
				Variable: "long_query_time", Value: "3.1234567",
			})
			tg, err := v.app.Open(t.Context(), "shop", app.Login{})
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			in, err := app.Actions{App: v.app}.PreviewChange(t.Context(), tg, "f-set_variable", change.Options{})
			if err != nil || !in.Preview.OK() {
				t.Fatalf("%v %v", err, in.Preview.Blockers)
			}
			ctx, cancel := context.WithCancel(t.Context())
			e, err := app.Actions{App: v.app}.Apply(ctx, tg, in, nil, func(string) { cancel() })
			if ctx.Err() == nil {
				t.Fatalf("nothing was said of the value: %v %+v", err, e)
			}
			if err != nil || e.State != journal.Done {
				t.Errorf("%v %+v", err, e)
			}
			if c, err := v.Changes.ChangeOf(t.Context(), e.ID); err != nil || len(c.Events) != 1 {
				t.Errorf("events %+v, %v", c.Events, err)
			}
		})
	}
}

// TestTextOfAChange: what was not done is not told as done.
func TestTextOfAChange(t *testing.T) {
	s := wired(&Service{})
	f := func(state journal.State, want string) {
		t.Helper()
		e := journal.Entry{State: state, Action: finding.Action{
			Kind:  finding.AddIndex,
			Table: schema.Ref{Schema: "shop", Table: "customers"}, Index: schema.Index{Name: "idx_email"},
		}}
		if got := s.Changes.change(e).Text; got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	f(journal.Done, "index idx_email added to shop.customers")
	f(journal.Undone, "index idx_email added to shop.customers")
	f(journal.Failed, "failed: add index idx_email to shop.customers")
	f(journal.Planned, "add index idx_email to shop.customers")
}

// TestTaskOfAnEntry: a task that carries a change out is not taken for the one of an entry that was interrupted before
// it.
func TestTaskOfAnEntry(t *testing.T) {
	s := wired(&Service{})
	defer s.Tasks.End()
	x, err := s.Tasks.Start(task.Task{Kind: "apply", Target: "shop", About: "f-1"}, untilCancelled)
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, e journal.Entry, its bool) {
		t.Helper()
		e.Target = "shop"
		for _, e.State = range []journal.State{journal.Planned, journal.Running} {
			if c := s.Changes.change(e); (c.Task == x.ID) != its || (c.Open == "") != its {
				t.Errorf("%s, %s: of task %q, open: %q", what, e.State, c.Task, c.Open)
			}
		}
		e.State = journal.Done
		if c := s.Changes.change(e); c.Task != "" || c.Open != "" {
			t.Errorf("%s, done: of task %q, open: %q", what, c.Task, c.Open)
		}
	}
	f("its own", journal.Entry{Finding: "f-1", Planned: x.Started.Add(time.Second)}, true)
	f("of the same moment", journal.Entry{Finding: "f-1", Planned: x.Started}, true)
	f("of a try before", journal.Entry{Finding: "f-1", Planned: x.Started.Add(-time.Second)}, false)
	f("of another finding", journal.Entry{Finding: "f-2", Planned: x.Started.Add(time.Second)}, false)
}

// TestProofOfOneActionAmongOthers: two findings of one diagnosis are carried out. The proof of either names the other,
// and what somebody took back by hand is not proven.
func TestProofOfOneActionAmongOthers(t *testing.T) {
	add := finding.Action{
		Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "boxes"},
		Index: schema.Index{Name: "by_shelf", Type: "BTREE", Parts: []schema.IndexPart{{Column: "shelf"}}},
	}
	s, v := shopChanged(t, "mariadb", add, finding.Action{
		Kind:     finding.SetVariable,
		Variable: "long_query_time", Value: "3",
	})
	ctx := t.Context()
	tg, err := v.app.Open(ctx, "shop", app.Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	d, err := v.ledger.Diagnoses.Get(ctx, "d-1")
	if err != nil {
		t.Fatal(err)
	}
	before := &snapshot.Snapshot{
		Format: snapshot.Format, Target: snapshot.Target{Server: tg.About().Server},
		From: time.Now().Add(-time.Minute), To: time.Now(),
	}
	if d.Snapshot, err = before.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := v.ledger.Diagnoses.Put(ctx, d); err != nil {
		t.Fatal(err)
	}
	old := journal.Entry{
		ID: "a-old", Target: "shop", Server: tg.About().Server, State: journal.Done,
		Started: before.From.Add(-time.Hour), Ended: before.From.Add(-time.Hour),
	}
	if err := v.ledger.PutEntry(ctx, old); err != nil {
		t.Fatal(err)
	}
	var done []journal.Entry
	for _, id := range []string{"f-add_index", "f-set_variable"} {
		in, err := app.Actions{App: v.app}.PreviewChange(ctx, tg, id, change.Options{})
		if err != nil || !in.Preview.OK() {
			t.Fatalf("%v %v", err, in.Preview.Blockers)
		}
		e, err := app.Actions{App: v.app}.Apply(ctx, tg, in, nil, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, e)
	}
	o := family.Look{Window: capture.MinWindow}
	p, _, err := app.Actions{App: v.app}.Prove(ctx, tg, done[0], o)
	if w := strings.Join(p.Warnings, "\n"); err != nil || !strings.Contains(w, "("+done[1].ID+")") ||
		strings.Contains(w, "a-old") {
		t.Errorf("%v, warnings %q: want %s alone in them", err, p.Warnings, done[1].ID)
	}
	s.Exec(t, "ALTER TABLE shop.boxes DROP INDEX by_shelf")
	if _, _, err := (app.Actions{App: v.app}).Prove(ctx, tg, done[0], o); err == nil ||
		!strings.Contains(err.Error(), "no longer in effect on") {
		t.Errorf("an index that somebody dropped is proven: %v", err)
	}
	if _, err := (app.Actions{App: v.app}).Undo(ctx, tg, done[1].ID, change.Options{}, nil,
		func(string) {}); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "ALTER TABLE shop.boxes ADD INDEX by_shelf (shelf)")
	p, _, err = app.Actions{App: v.app}.Prove(ctx, tg, done[0], o)
	if w := strings.Join(p.Warnings, "\n"); err != nil || !strings.Contains(w, "("+done[1].ID+")") {
		t.Errorf("%v, warnings %q: want %s, which was taken back since, in them", err, p.Warnings, done[1].ID)
	}
}

// TestDoneIsToldWithoutAMark: a timeline that cannot be written does not hide that an action was made and how to take
// it back.
func TestDoneIsToldWithoutAMark(t *testing.T) {
	_, v := shopChanged(t, "mariadb", finding.Action{
		Kind:     finding.SetVariable,
		Variable: "long_query_time", Value: "3",
	})
	ctx := t.Context()
	tg, err := v.app.Open(ctx, "shop", app.Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	in, err := app.Actions{App: v.app}.PreviewChange(ctx, tg, "f-set_variable", change.Options{})
	if err != nil || !in.Preview.OK() {
		t.Fatalf("%v %v", err, in.Preview.Blockers)
	}
	db, err := sql.Open("sqlite", v.ledger.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TRIGGER no BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no room'); "+
		"END"); err != nil {
		t.Fatal(err)
	}
	e, err := app.Actions{App: v.app}.Apply(ctx, tg, in, nil, func(string) {})
	if err == nil || e.State != journal.Done {
		t.Fatalf("%v %+v", err, e)
	}
	for _, want := range []string{"action " + e.ID + " was made, but its mark", "no room", "dyno undo " + e.ID} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	e, err = app.Actions{App: v.app}.Undo(ctx, tg, e.ID, change.Options{}, nil, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "action "+e.ID+" was undone, but") || e.State != journal.Undone {
		t.Errorf("%v %+v", err, e)
	}
}
