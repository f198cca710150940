package advise

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
)

func TestLink(t *testing.T) {
	symptoms := []finding.Symptom{
		{ID: "checkpoint", Kind: "checkpoint"},
		{ID: "scan:A", Kind: "scan", Subject: "A"},
		{ID: "io-wait", Kind: "io-wait"},
		{ID: "old-versions", Kind: "old-versions"},
		{ID: "not-observable:A", Kind: "not-observable", Subject: "A"},
	}
	f := func(x finding.Finding, want ...string) {
		t.Helper()
		all := []finding.Finding{x}
		Link(all, symptoms)
		if !slices.Equal(all[0].Symptoms, want) {
			t.Errorf("%+v: %q, want %q", x, all[0].Symptoms, want)
		}
	}
	f(finding.Finding{})
	f(finding.Finding{Explains: []string{EffectCheckpoint}}, "checkpoint")
	f(finding.Finding{Rests: []string{EffectDiskWrites}, Symptoms: []string{"io-wait"}}, "io-wait")
	f(finding.Finding{Subject: finding.Subject{Classes: []string{"A"}}}, "scan:A")
	f(finding.Finding{Explains: []string{EffectHistory}, Subject: finding.Subject{Classes: []string{"B"}}},
		"old-versions")
	f(finding.Finding{Explains: []string{EffectHistory}, Severity: finding.Fact})
}

// TestExclude: an index and the longer one that is to serve instead of it must not both go.
func TestExclude(t *testing.T) {
	table := schema.Ref{Schema: "shop", Table: "orders"}
	index := func(name string, columns ...string) schema.Index {
		x := schema.Index{Name: name}
		for _, c := range columns {
			x.Parts = append(x.Parts, schema.IndexPart{Column: c})
		}
		return x
	}
	customer, status, third := index("customer", "customer"), index("status", "customer", "status"),
		index("third", "customer", "day")
	advice := func() []finding.Finding {
		return []finding.Finding{
			{ID: "hide-customer", Action: &finding.Action{Kind: finding.HideIndex, Table: table, Index: customer}},
			{ID: "add", Action: &finding.Action{Kind: finding.AddIndex, Table: table, Index: third}},
			{ID: "drop-status", Action: &finding.Action{Kind: finding.DropIndex, Table: table, Index: status}},
		}
	}
	all := advice()
	Exclude(all, []schema.Table{{Ref: table, Indexes: []schema.Index{customer, status}}})
	if !slices.Equal(all[0].Excludes, []string{"drop-status"}) ||
		!slices.Equal(all[2].Excludes, []string{"hide-customer"}) || all[1].Excludes != nil ||
		!slices.Equal(all[0].Against, []string{"Apply either this or drop-status, not both: one of customer and " +
			"status has to stay."}) {
		t.Errorf("%+v", all)
	}
	all = advice()
	if Exclude(all, []schema.Table{{Ref: table, Indexes: []schema.Index{customer, status, third}}}); all[0].Excludes !=
		nil || all[2].Against != nil {
		t.Errorf("with a third that serves: %+v", all)
	}
}
