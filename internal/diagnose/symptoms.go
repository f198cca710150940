package diagnose

import (
	"cmp"
	"slices"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Look finds one kind of symptom in a snapshot.
type Look func(*snapshot.Snapshot) []finding.Symptom

// RowsPerSent is how many rows may be read for one sent before it counts as much for little. Joins and sorts in good
// order stay well below it.
const RowsPerSent = 100

// Symptoms returns what is out of order in the snapshot, by the looks of its server's family and in their order: the
// same snapshot always gives the same symptoms.
func Symptoms(s *snapshot.Snapshot, looks []Look) []finding.Symptom {
	var out []finding.Symptom
	for _, look := range looks {
		out = append(out, look(s)...)
	}
	return out
}

// Everywhere are the looks that need no family's word: at the machine, at replicas, at locks and at the
// time of classes.
func Everywhere() []Look {
	return []Look{CPU, CPUQueue, ReplicaBehind, ReplicaStopped, IOWait, LockQueues, LockWaiting, Dominant}
}

// Scans looks at the rows that classes examine, and at plans that read whole tables. parse reads their statements; own
// are the schemas of the server itself.
func Scans(parse shape.Parse, own []string) Look {
	return func(s *snapshot.Snapshot) []finding.Symptom { return scans(s, parse, own) }
}

// byTime returns the classes with the most time first.
func byTime(s *snapshot.Snapshot) []class.Class {
	cs := slices.Clone(s.Classes)
	slices.SortStableFunc(cs, func(a, b class.Class) int {
		return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), cmp.Compare(a.ID, b.ID))
	})
	return cs
}

// sum adds values; it is unknown as soon as one of them is.
func sum(vs ...known.Value[float64]) known.Value[float64] {
	total := 0.0
	for _, v := range vs {
		x, ok := v.Get()
		if !ok {
			return known.None[float64]()
		}
		total += x
	}
	return known.Of(total)
}
