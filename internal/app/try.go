package app

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// tries is a server whose family tries an index on a copy of the data before it is suggested. The private server gets
// the name, and is gone when TryIndexes returns. The outcome stands in the Tested of each finding, all of which add an
// index: of one that cannot be tried, why. An error means that nothing could be tried.
type tries interface {
	TryIndexes(ctx context.Context, yard *sandbox.Yard, name string, seen *snapshot.Snapshot,
		findings []*finding.Finding, o family.Try) error
}

// TryIndexes tries the indexes that the findings of a diagnosis would add on a private server of the same kind, with
// rows and statements of the target, which is only read. What brought nothing where it was tried is told last.
func (a Diagnosing) TryIndexes(ctx context.Context, t family.Server, d *Diagnosis, o family.Try) error {
	x, err := family.Need[tries](t, "try indexes")
	if err != nil {
		return err
	}
	var which []*finding.Finding
	for i, f := range d.Findings {
		if f.Action != nil && f.Action.Kind == finding.AddIndex && f.Severity != finding.Fact {
			which = append(which, &d.Findings[i])
		}
	}
	if len(which) == 0 {
		return nil
	}
	yard, err := a.Yard()
	if err != nil {
		return err
	}
	yard.ServerDirs = append(yard.ServerDirs, o.ServerDirs...)
	l, err := a.Ledger(ctx)
	if err != nil {
		return err
	}
	id, err := l.NewID(ctx, "try")
	if err != nil {
		return err
	}
	name := TryPrefix + strings.TrimPrefix(id, "try-")
	if err := x.TryIndexes(ctx, yard, name, d.Snapshot, which, o); err != nil {
		return err
	}
	slices.SortStableFunc(d.Findings, func(a, b finding.Finding) int {
		return cmp.Compare(b.Severity.Rank(), a.Severity.Rank())
	})
	return nil
}
