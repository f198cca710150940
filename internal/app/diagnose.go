package app

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Diagnosing looks at targets and keeps what it finds.
type Diagnosing struct{ *App }

// Diagnosis is what a look at a target gave.
type Diagnosis struct {
	ID       string // empty when nothing was stored
	Snapshot *snapshot.Snapshot
	Symptoms []finding.Symptom
	Findings []finding.Finding // worst first

	By         string // who asked for it; empty for the command line
	Background bool   // nobody did: dyno serve looks by itself
	Incident   string // id of the event of the incident that it was started for

	Facts  []finding.Finding // advice that nothing measured suffers from yet
	Advice []advise.Kind     // what was asked for in place of a diagnosis
}

// Judge fills in what the rules say of the snapshot: the findings of all, or with kinds everything that those have to
// say.
func (d *Diagnosis) Judge(kinds ...advise.Kind) {
	if d.Advice = kinds; len(kinds) > 0 {
		d.Symptoms, d.Findings = Advise(d.Snapshot, kinds...)
		return
	}
	d.Findings, d.Facts = nil, nil
	var all []finding.Finding
	d.Symptoms, all = Advise(d.Snapshot, advise.Kinds()...)
	for _, f := range all {
		if f.Severity == finding.Fact {
			d.Facts = append(d.Facts, f)
		} else {
			d.Findings = append(d.Findings, f)
		}
	}
}

// Diagnose looks at the target, judges, and stores snapshot and findings so that `apply` and `proof` find them. It
// learns about the target only what any stranger with the same grants could. With kinds it tells all that these kinds
// of advice have to say, see Advise.
func (a Diagnosing) Diagnose(
	ctx context.Context, t family.Server, o family.Look, kinds ...advise.Kind,
) (Diagnosis, error) {
	o.Home = a.Home
	looker, err := family.Need[family.Looker](t, "diagnose")
	if err != nil {
		return Diagnosis{}, err
	}
	s, err := looker.Look(ctx, o)
	if err != nil {
		return Diagnosis{}, err
	}
	d := Diagnosis{Snapshot: s}
	d.Judge(kinds...)
	return a.KeepNew(ctx, d)
}

// KeepNew gives a diagnosis an id and stores it.
func (a Diagnosing) KeepNew(ctx context.Context, d Diagnosis) (Diagnosis, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return d, err
	}
	if d.ID, err = l.NewID(ctx, ledger.DiagnosisID); err != nil {
		return d, err
	}
	return d, a.Keep(ctx, d)
}

// Document tells what the diagnosis found.
func (d Diagnosis) Document(findings []finding.Finding, version string) report.Document {
	return document(d.ID, d.Snapshot, d.Symptoms, findings, version, d.advice())
}

// advice names the kinds of advice that were asked for.
func (d Diagnosis) advice() (names []string) {
	for _, k := range d.Advice {
		names = append(names, string(k))
	}
	return names
}

// Keep stores a diagnosis under its id, over what was kept before.
func (a Diagnosing) Keep(ctx context.Context, d Diagnosis) error {
	l, err := a.Ledger(ctx)
	if err != nil {
		return err
	}
	b, err := d.Snapshot.Encode()
	if err != nil {
		return err
	}
	return l.Diagnoses.Put(ctx, ledger.Diagnosis{
		Facts: d.Facts, Advice: d.advice(), ID: d.ID, At: d.Snapshot.To,
		Target: d.Snapshot.Target.Name, Snapshot: b, Findings: d.Findings, Server: d.Snapshot.Target.Server, By: d.By,
		Background: d.Background, Incident: d.Incident,
	})
}

// snapshotOf returns what a diagnosis was made from.
func snapshotOf(d ledger.Diagnosis) (*snapshot.Snapshot, error) {
	if d.Snapshot == nil {
		return nil, fmt.Errorf("the snapshot of %s is no longer stored: later ones of %s needed its space; "+
			"diagnose again", d.ID, d.Target)
	}
	return snapshot.Decode(d.Snapshot)
}

// Diagnoses returns the diagnoses that are kept of a target, or of all with target "", in short, newest first, at most
// n; advice, too.
func (a Diagnosing) Diagnoses(ctx context.Context, target string, n int) ([]DiagnosisSummary, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	ds, err := l.Diagnoses.List(ctx, target, n)
	if err != nil {
		return nil, err
	}
	all := make([]DiagnosisSummary, 0, len(ds))
	for _, d := range ds {
		all = append(all, SummaryOf(d))
	}
	return all, nil
}

// DefaultWindow is how long `dyno diagnose` looks when it is not told.
const DefaultWindow = 10 * time.Second

// DiagnosisSummary is a diagnosis in short.
type DiagnosisSummary struct {
	ID         string    `json:"id"`
	Target     string    `json:"target"`
	At         time.Time `json:"at"`
	By         string    `json:"by,omitzero"` // who asked for it; empty for the command line
	Background bool      `json:"background,omitzero"`
	Incident   string    `json:"incident,omitzero"` // id of the event of the incident that it was started for
	// kinds of advice that `dyno advise` was asked for: no diagnosis of the server
	Advice   []string         `json:"advice,omitempty"`
	Count    int              `json:"count"`          // of findings
	Worst    string           `json:"worst,omitzero"` // title of the first finding
	Severity finding.Severity `json:"severity,omitzero"`
	Share    float64          `json:"share"` // of the statement time, see finding.Finding
	// when Worst was seen last, which may be before At; of the newest of a target
	Last    time.Time `json:"last_seen,omitzero"`
	Ignored int       `json:"ignored,omitzero"` // findings that are ignored; of the newest of a target

	ServerID string `json:"-"` // of the server that was looked at, as target.Facts.Server; empty when that is not kept
}

// SummaryOf tells a stored diagnosis in short.
func SummaryOf(d ledger.Diagnosis) DiagnosisSummary {
	v := DiagnosisSummary{
		ID: d.ID, Target: d.Target, At: d.At, By: d.By, Background: d.Background, Incident: d.Incident,
		Advice: d.Advice, Count: len(d.Findings), ServerID: d.Server,
	}
	if len(d.Findings) > 0 {
		f := d.Findings[0]
		v.Worst, v.Severity, v.Share = f.Title, f.Severity, f.Share
	}
	return v
}
