package advise

import (
	"slices"
	"testing"

	"dyno/internal/finding"
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
	f(finding.Finding{Explains: []string{EffectHistory}, Subject: finding.Subject{Classes: []string{"B"}}}, "old-versions")
	f(finding.Finding{Explains: []string{EffectHistory}, Severity: finding.Info})
}
