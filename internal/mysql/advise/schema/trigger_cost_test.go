package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/snap"
)

func triggered(sec float64, n uint64) *snap.Made {
	m := snap.Build().Table("sales", 50_000, snap.Col("kind", "int", 4), snap.Col("cut", "int", 4))
	m.Last().Triggers = []schema.Trigger{{
		Name: "cuts", Timing: "BEFORE", Event: "INSERT",
		Body: "BEGIN DECLARE r INT; CALL work_out(NEW.kind, r); SET NEW.cut = r; END",
	}}
	m.S.Programs = []snapshot.Program{
		{Kind: "trigger", Schema: "shop", Name: "cuts", Count: n, TimeSec: sec, Statements: known.Of(n * 3)},
		{
			Kind: "procedure", Schema: "shop", Name: "work_out", Count: n, TimeSec: 0.95 * sec,
			Body: "BEGIN WHILE i < 9 DO SET i = i + 1; END WHILE; IF k = 3 THEN SET r = i; END IF; END",
		},
		{Kind: "function", Schema: "shop", Name: "out", Count: n, TimeSec: 0.9 * sec},
	}
	m.Exact("INSERT INTO sales (kind) VALUES (1)", 5000, 0.002, 0, 0, affects(5000))
	return m.Exact("SELECT kind FROM sales WHERE id = 1", 5000, 0.0002, 1, 1)
}

func askTriggered(m *snap.Made) []finding.Finding { return triggerCost(m.View()) }

func TestTriggerCost(t *testing.T) {
	got := only(t, triggered(8, 5000), askTriggered)
	if got.Subject.Tables[0].String() != "shop.sales" || len(got.Subject.Classes) != 1 ||
		got.Confidence != finding.Certain || !strings.Contains(got.Title, "cuts") {
		t.Errorf("%+v", got)
	}
	text := ""
	for _, e := range got.Evidence {
		text += e.Text + "\n"
	}
	if !strings.Contains(text, "procedure work_out") || strings.Contains(text, "function out") {
		t.Errorf("what it calls: %s", text)
	}
	if !strings.Contains(got.Suggestion, "work_out works in a loop") || !strings.Contains(got.Suggestion, "branches") {
		t.Errorf("%s", got.Suggestion)
	}
	if got.Gain.Hi < 3 || got.Gain.Hi > 10 {
		t.Errorf("%+v", got.Gain)
	}
	m := triggered(8, 5000) // its text may not be seen
	m.Last().Triggers[0].Body = ""
	if got := only(t, m, askTriggered); got.Confidence != finding.Likely || len(got.Unobserved) == 0 {
		t.Errorf("%+v", got)
	}
	m = triggered(8, 5000) // the source names the table, the catalog does not list triggers
	m.Last().Triggers = nil
	m.S.Programs[0].Table = "sales"
	only(t, m, askTriggered)
}

func TestTriggerCostSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		if out := askTriggered(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("a cheap trigger", triggered(0.1, 5000))
	f("often, but short", triggered(2, 100_000))
	m := triggered(8, 5000)
	m.S.Programs = m.S.Programs[1:]
	f("a routine that no trigger calls", m)
	m = triggered(8, 5000)
	m.S.Programs[0].Count, m.S.Programs[0].TimeSec = 0, 0
	f("it did not run", m)
	m = triggered(8, 5000)
	m.S.Programs = nil
	f("nobody measures stored programs", m)
	m = triggered(8, 5000)
	m.Last().Triggers = nil
	f("whose trigger it is is not known", m)
	f("nothing", snap.Build())
}
