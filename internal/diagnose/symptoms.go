package diagnose

import (
	"cmp"
	"slices"

	"dyno/internal/class"
	"dyno/internal/finding"
	"dyno/internal/known"
	"dyno/internal/snapshot"
)

// Kinds of symptoms.
const (
	CPUSaturated  = "cpu-saturated"  // the server uses most of the CPU it may use
	IOWait        = "io-wait"        // the machine waits for its disks
	RndNext       = "rnd-next"       // the server reads row after row of whole tables and sends few
	DominantClass = "dominant-class" // one class holds a large part of the statement time
	Scan          = "scan"           // a class examines many rows for each that it returns or changes
	NotObservable = "not-observable" // a source gave nothing
)

// Symptoms returns what is out of order in the snapshot, always in the same order: resources, the server, classes with the
// most time first, and what could not be seen.
func Symptoms(s *snapshot.Snapshot) []finding.Symptom {
	var out []finding.Symptom
	for _, look := range []func(*snapshot.Snapshot) []finding.Symptom{cpu, ioWait, rndNext, dominant, scans, blind} {
		out = append(out, look(s)...)
	}
	return out
}

// byTime returns the classes with the most time first.
func byTime(s *snapshot.Snapshot) []class.Class {
	cs := slices.Clone(s.Classes)
	slices.SortStableFunc(cs, func(a, b class.Class) int {
		return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), cmp.Compare(a.ID, b.ID))
	})
	return cs
}

// sourceOf names the snapshot's source that a class came from.
func sourceOf(c class.Class) string {
	switch c.Origin {
	case class.PerformanceSchema:
		return "digests"
	case class.Processlist:
		return "statement_samples"
	default:
		return string(c.Origin)
	}
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
