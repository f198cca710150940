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

// Symptoms returns what is out of order in the snapshot, always in the same order: resources, the server, classes with
// the most time first, and what could not be seen. parse reads the statements of classes.
func Symptoms(s *snapshot.Snapshot, parse shape.Parse) []finding.Symptom {
	var out []finding.Symptom
	scans := func(s *snapshot.Snapshot) []finding.Symptom { return scans(s, parse) }
	for _, look := range slices.Concat([]look{cpu}, loadLooks(), []look{ioWait}, memoryLooks(), lockLooks(),
		[]look{rndNext, dominant, scans}, classLooks(), []look{blind}) {
		out = append(out, look(s)...)
	}
	return out
}

// look finds one kind of symptom.
type look = func(*snapshot.Snapshot) []finding.Symptom

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
