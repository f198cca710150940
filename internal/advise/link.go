package advise

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
)

// effects tells by kind of symptom which effect it measures; a kind that is called as its effect is not listed.
func effects(kind finding.SymptomKind) []string {
	switch kind {
	case finding.CPUSaturated, finding.RndNext:
		return []string{EffectCPU}
	case finding.IOWait:
		return []string{EffectDiskReads, EffectDiskWrites, EffectFsyncs}
	case finding.SlowReads:
		return []string{EffectDiskReads, EffectPoolMisses}
	case finding.LockQueue, finding.LockWaiting:
		return []string{EffectRowLocks, EffectMetadata}
	case finding.OldVersions:
		return []string{EffectHistory}
	default:
		return []string{string(kind)}
	}
}

// Link adds to every finding the symptoms that it accounts for: those about one of its classes, and those that measure
// an effect which it explains or rests upon. A reader can then see which symptoms nobody explains.
func Link(findings []finding.Finding, symptoms []finding.Symptom) {
	for i := range findings {
		f := &findings[i]
		if f.Severity == finding.Fact {
			continue
		}
		for _, s := range symptoms {
			about := slices.Contains(f.Subject.Classes, s.Subject)
			for _, e := range effects(s.Kind) {
				about = about || slices.Contains(f.Explains, e) || slices.Contains(f.Rests, e)
			}
			if about && s.Kind != finding.NotObservable && !slices.Contains(f.Symptoms, s.ID) {
				f.Symptoms = append(slices.Clip(f.Symptoms), s.ID)
			}
		}
	}
}

// Exclude marks findings whose changes must not both be made: each takes away an index, and one of the two is all that
// serves for what the other did.
func Exclude(findings []finding.Finding, tables []schema.Table) {
	of := map[schema.Ref][]int{} // findings that take an index away, by table
	for i, f := range findings {
		if a := takes(f); a != nil {
			of[a.Table] = append(of[a.Table], i)
		}
	}
	for _, t := range tables {
		for _, i := range of[t.Ref] {
			for _, j := range of[t.Ref] {
				short, long := takes(findings[i]).Index, takes(findings[j]).Index
				if short.Name == long.Name || !schema.Serves(long, short) {
					continue
				}
				if slices.ContainsFunc(t.Indexes, func(x schema.Index) bool {
					return x.Name != short.Name && x.Name != long.Name && schema.Serves(x, short)
				}) {
					continue
				}
				exclude(&findings[i], &findings[j])
				exclude(&findings[j], &findings[i])
			}
		}
	}
}

func exclude(f, other *finding.Finding) {
	if !slices.Contains(f.Excludes, other.ID) {
		f.Excludes = append(slices.Clip(f.Excludes), other.ID)
		f.Against = append(slices.Clip(f.Against), fmt.Sprintf("Apply either this or %s, not both: one of %s and %s "+
			"has to stay.", other.ID, f.Action.Index.Name, other.Action.Index.Name))
	}
}

// takes returns the action of a finding that takes an index away.
func takes(f finding.Finding) *finding.Action {
	if a := f.Action; a != nil && (a.Kind == finding.HideIndex || a.Kind == finding.DropIndex) {
		return a
	}
	return nil
}
