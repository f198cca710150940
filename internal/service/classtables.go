package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Bounds of the tables of one class.
const (
	mostClassTables  = 16
	mostOfTables     = 4 << 20 // bytes of all definitions, as schema.Table.Memory counts them
	tableLooks       = 16      // diagnoses on each side of a moment that are gone through
	tableReads       = 3       // of these whose tables are looked at
	mostTableChanges = 5       // the newest schema changes of each table
)

// ClassTable is a table of a class as it was at about the end of the window that is shown.
type ClassTable struct {
	schema.Table
	Name string `json:"name"` // as the statement writes it; of a fingerprint up to its digits
	// At is when all of it was read: definition, sizes and the server's estimates. Absent when none is stored, see Why.
	At time.Time `json:"at,omitzero"`
	// Source is what it was read for: "plan" of the class, or "diagnosis" of the server.
	Source string `json:"source,omitzero"`
	// After says that it was read after the window: no earlier definition is stored.
	After bool `json:"after,omitzero"`
	// Changes are the newest schema changes that name the table, seen between At and the end of the window, in order of
	// time. A change that no scrape saw running is not among them.
	Changes []event.Event `json:"changes,omitempty"`
	Why     string        `json:"why,omitzero"` // why no definition is stored
	Fix     string        `json:"fix,omitzero"`
}

// tableReading is a time at which tables of a target were read.
type tableReading struct {
	at     time.Time
	tables []schema.Table // those of a plan
	id     string         // of a diagnosis
}

// classTables returns the tables that a class names as they were at the end of a window, by what was read last up to
// then, else by what was read first after it.
func (s *Classes) classTables(ctx context.Context, target string, c class.Class, names []string, plans []history.Plan,
	end time.Time,
) ([]ClassTable, error) {
	out := make([]ClassTable, 0, len(names))
	for _, n := range names[:min(len(names), mostClassTables)] {
		out = append(out, ClassTable{
			Name: n, Table: schema.Table{
				Ref: schema.Ref{Table: n}, Columns: []schema.Column{}, Indexes: []schema.Index{},
			},
			Why: "no definition is stored: it is read with the first plan of a class that takes much time, where " +
				"plans are read while watching, and by each diagnosis of the server",
			Fix: "dyno diagnose " + target,
		})
	}
	if len(out) == 0 {
		return out, nil
	}
	all, err := s.tableReadings(ctx, target, plans, end)
	if err != nil {
		return out, err
	}
	open, room, reads := len(out), mostOfTables, 0
	for _, r := range all {
		x := &snapshot.Snapshot{Tables: r.tables}
		switch {
		case open == 0, r.id != "" && reads == tableReads:
			continue
		case r.id != "":
			if x, err = s.tablesRead(ctx, r.id); err != nil {
				return out, err
			}
			if x == nil {
				continue
			}
			reads++
		}
		for i := range out {
			t := &out[i]
			if !t.At.IsZero() {
				continue
			}
			name := t.Name
			if strings.Contains(c.Fingerprint, name+"?") { // names end where a fingerprint has lost digits
				name += "?"
			}
			found := tablesNamed(x.Tables, c.Schema, name)
			switch n := len(found); {
			case n == 0:
				if r.id != "" && reads == 1 {
					t.notRead(x)
				}
				continue
			case n > 1 && r.id != "":
				t.Why, t.Fix = fmt.Sprintf("%d tables have a name that this can stand for", n), ""
				continue
			}
			one := *found[0]
			if room -= one.Memory(); room < 0 {
				t.Why, t.Fix = "the definitions of this statement's tables exceed the size limit", ""
				continue
			}
			t.Table, t.At, t.Source, t.Why, t.Fix = shown(one), r.at.UTC(), "plan", "", ""
			if r.id != "" {
				t.At, t.Source = x.To, "diagnosis"
			}
			t.After = r.at.After(end)
			open--
		}
	}
	return out, s.addTableChanges(ctx, target, out, end)
}

// tableReadings returns when tables of a target were read: up to a moment, the latest first, then after it in order of
// time. A name may have stood for several servers: what is beyond a diagnosis of another one is left out.
func (s *Classes) tableReadings(ctx context.Context, target string, plans []history.Plan, end time.Time,
) (all []tableReading, err error) {
	before, after, err := s.ledger.Diagnoses.Around(ctx, target, end, tableLooks)
	if err != nil {
		return nil, err
	}
	server := ""
	take := func(ds []ledger.Looked) (edge time.Time) {
		for _, d := range ds {
			if server = cmp.Or(server, d.Server); d.Server != "" && d.Server != server {
				return d.At
			}
			all = append(all, tableReading{at: d.At, id: d.ID})
		}
		return edge
	}
	first, last := take(before), take(after)
	for _, p := range plans {
		if len(p.Tables) > 0 && p.TablesRead.After(first) && (last.IsZero() || p.TablesRead.Before(last)) {
			all = append(all, tableReading{at: p.TablesRead, tables: p.Tables})
		}
	}
	slices.SortStableFunc(all, func(a, b tableReading) int {
		switch x, y := a.at.After(end), b.at.After(end); {
		case x && y:
			return a.at.Compare(b.at)
		case x:
			return 1
		case y:
			return -1
		}
		return b.at.Compare(a.at)
	})
	return all, nil
}

// tablesRead returns the snapshot of a diagnosis that read the tables of its server; nil for one that is made of what
// others read, for one of another version, and for one that is no longer stored.
func (s *Classes) tablesRead(ctx context.Context, id string) (*snapshot.Snapshot, error) {
	d, err := s.ledger.Diagnoses.Get(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && d.Snapshot == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := snapshot.Decode(d.Snapshot)
	if err != nil || x.Past != nil {
		return nil, nil //nolint:nilerr // it is of a version that this one does not read
	}
	return x, nil
}

// tablesNamed returns those that a name of a statement can mean, with the default database of its class. Of a
// fingerprint it may have lost its digits.
func tablesNamed(tables []schema.Table, database, name string) (found []*schema.Table) {
	for i := range tables {
		t := &tables[i]
		if shape.Match(name, t.Ref.String()) ||
			shape.Match(name, t.Ref.Table) && (database == "" || strings.EqualFold(database, t.Schema)) {
			found = append(found, t)
		}
	}
	return found
}

// notRead says why the nearest diagnosis does not have the table.
func (t *ClassTable) notRead(x *snapshot.Snapshot) {
	src := x.Source(source.Tables)
	if src.State != source.OK {
		t.Why, t.Fix = "the nearest diagnosis did not read tables: "+cmp.Or(src.Reason, string(src.State)), src.Fix
		return
	}
	t.Why = fmt.Sprintf("it is not among the %d tables that the nearest diagnosis read", len(x.Tables))
	if n, ok := x.TablesLeft.Get(); ok && n > 0 {
		t.Why += fmt.Sprintf(", which left out %d", n)
	}
	if src.Reason != "" {
		t.Why += ": " + src.Reason
	}
	t.Fix = src.Fix
}

// shown returns a table as a reader of its definition needs it: without the bodies of its triggers, and with lists.
func shown(t schema.Table) schema.Table {
	t.Triggers = slices.Clone(t.Triggers)
	for i := range t.Triggers {
		t.Triggers[i].Body = ""
	}
	if t.Columns == nil {
		t.Columns = []schema.Column{}
	}
	if t.Indexes == nil {
		t.Indexes = []schema.Index{}
	}
	return t
}

// addTableChanges adds what was changed between the time that a table was read and the end of the window.
func (s *Classes) addTableChanges(ctx context.Context, target string, tables []ClassTable, end time.Time) error {
	from, to := end, end
	for _, t := range tables {
		if !t.At.IsZero() {
			if t.At.Before(from) {
				from = t.At
			}
			if t.At.After(to) {
				to = t.At
			}
		}
	}
	if from.Equal(to) {
		return nil
	}
	const most = 200
	es, err := s.ledger.Events.Newest(ctx, target, []string{string(event.DDL), string(event.Action)}, from, to, most)
	if err != nil {
		return err
	}
	for i := range tables {
		t := &tables[i]
		for _, e := range es {
			between := !t.At.IsZero() && e.At.After(t.At) && !e.At.After(end)
			if t.After {
				between = !e.At.Before(end) && e.At.Before(t.At)
			}
			if between && e.Target == target && e.Names(t.Ref.Table) {
				t.Changes = append(t.Changes, e)
			}
		}
		t.Changes = t.Changes[max(0, len(t.Changes)-mostTableChanges):]
	}
	return nil
}
