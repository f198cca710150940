package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dyno/internal/advise/index"
	"dyno/internal/capture"
	"dyno/internal/diagnose"
	"dyno/internal/finding"
	"dyno/internal/snapshot"
	"dyno/internal/store/ledger"
	"dyno/internal/target"
)

// Diagnosis is what a look at a target gave.
type Diagnosis struct {
	ID       string // empty when nothing was stored
	Snapshot *snapshot.Snapshot
	Symptoms []finding.Symptom
	Findings []finding.Finding // worst first
}

// Judge turns a snapshot into symptoms and findings. It is pure: the same snapshot always gives the same answer.
func Judge(s *snapshot.Snapshot) ([]finding.Symptom, []finding.Finding) {
	symptoms := diagnose.Symptoms(s)
	findings := index.Advise(s, symptoms)
	slices.SortStableFunc(findings, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(b.Share, a.Share), cmp.Compare(a.ID, b.ID))
	})
	return symptoms, findings
}

// Diagnose looks at the target, judges, and stores snapshot and findings so that `apply` and `proof` find them. It learns about the
// target only what any stranger with the same grants could.
func (a *App) Diagnose(ctx context.Context, t *target.Target, o capture.Options) (Diagnosis, error) {
	s, err := capture.Take(ctx, t, o)
	if err != nil {
		return Diagnosis{}, err
	}
	d := Diagnosis{Snapshot: s}
	d.Symptoms, d.Findings = Judge(s)
	l, err := a.Ledger(ctx)
	if err != nil {
		return d, err
	}
	if d.ID, err = l.NewID(ctx, ledger.DiagnosisID); err != nil {
		return d, err
	}
	b, err := s.Encode()
	if err != nil {
		return d, err
	}
	return d, l.PutDiagnosis(ctx, ledger.Diagnosis{ID: d.ID, At: s.To, Target: s.Target.Name, Snapshot: b, Findings: d.Findings})
}

// DefaultWindow is how long `dyno diagnose` looks when it is not told.
const DefaultWindow = 10 * time.Second
