package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestClassTables: a class's tables are as they were at the end of the window, by plan or diagnosis, whichever was read
// last up to then; never those of another server.
func TestClassTables(t *testing.T) {
	s := past(t)
	ctx := t.Context()
	c := exact("a", 1, 1)
	c.Fingerprint = "select * from orders join log_? on x = y join other.`gone` using (z)"
	orders := func(rows uint64, indexes ...string) schema.Table {
		x := schema.Table{
			Ref: schema.Ref{Schema: "shop", Table: "orders"}, Rows: known.Of(rows),
			Triggers: []schema.Trigger{{Name: "tr", Body: "SET @a = 'secret'"}},
		}
		for _, n := range indexes {
			x.Indexes = append(x.Indexes, schema.Index{Name: n, Parts: []schema.IndexPart{{Column: n}}})
		}
		return x
	}
	p := explain.Plan{Class: "a", Steps: []explain.Step{{Table: "orders", Access: "ALL"}}}
	if _, err := s.History.PutPlan(ctx, "shop", "shop", periodNoon, p, orders(1, "PRIMARY"),
		schema.Table{Ref: schema.Ref{Schema: "shop", Table: "log_7"}}); err != nil {
		t.Fatal(err)
	}
	diagnose := func(id string, at time.Time, server string, src source.Source, tables ...schema.Table) {
		t.Helper()
		src.Name = source.Tables
		x := &snapshot.Snapshot{
			Format: snapshot.Format, From: at.Add(-time.Minute), To: at, Tables: tables,
			Target: snapshot.Target{Name: "shop", Server: server}, Sources: []source.Source{src},
		}
		b, err := x.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ledger.Diagnoses.Put(ctx, ledger.Diagnosis{
			ID: id, At: at, Target: "shop", Server: server, Snapshot: b,
		}); err != nil {
			t.Fatal(err)
		}
	}
	hour := func(n float64) time.Time { return periodNoon.Add(time.Duration(n * float64(time.Hour))) }
	diagnose("d-1", hour(1), "one", source.Source{State: source.OK}, orders(2, "PRIMARY", "by_user"))
	diagnose("d-2", hour(6), "two", source.Source{State: source.Denied, Reason: "no SELECT", Fix: "GRANT it"})
	for i, text := range []string{"ALTER TABLE orders ADD INDEX by_user (user)", "ALTER TABLE others ADD x INT"} {
		if err := s.ledger.Events.Put(ctx, event.Event{
			At: hour(0.5 + float64(i)/10), Target: "shop", Kind: event.DDL, Text: text,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []struct {
		end  float64
		want string // of orders; log_?; gone
	}{
		{0.2, "1 rows, 1 indexes, plan 12:00 false 0; plan 12:00; is not among the 1 tables"},
		{0.8, "1 rows, 1 indexes, plan 12:00 false 1; plan 12:00; is not among the 1 tables"},
		{2, "2 rows, 2 indexes, diagnosis 13:00 false 0; plan 12:00; is not among the 1 tables"},
		{-1, "1 rows, 1 indexes, plan 12:00 true 0; plan 12:00; "},
		{7, "no SELECT; no SELECT; no SELECT"},
	} {
		x, err := s.Classes.ClassExtra(ctx, "shop", c, hour(f.end))
		if err != nil || len(x.Definitions) != 3 {
			t.Fatalf("%v: %+v %v", f.end, x.Definitions, err)
		}
		o, l, g := x.Definitions[0], x.Definitions[1], x.Definitions[2]
		if o.Name != "orders" || g.Name != "other.gone" || l.Name != "log_" || o.Columns == nil || g.Indexes == nil {
			t.Errorf("%v: %q %q %q", f.end, o.Name, l.Name, g.Name)
		}
		for _, part := range strings.Split(f.want, "; ") {
			got := fmt.Sprintf("%d rows, %d indexes, %s %s %v %d; %s %s; %s %s %s", o.Rows.Or(0), len(o.Indexes),
				o.Source, o.At.Format("15:04"), o.After, len(o.Changes), l.Source, l.At.Format("15:04"), o.Why, l.Why,
				g.Why)
			if !strings.Contains(got, part) {
				t.Errorf("at %v h: %s\nwant %s", f.end, got, part)
			}
		}
		if len(o.Triggers) == 1 && o.Triggers[0].Body != "" || f.end == 7 && g.Fix != "GRANT it" {
			t.Errorf("%v: %+v", f.end, o)
		}
	}
}
