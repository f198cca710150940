package diagnose

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
)

func TestBound(t *testing.T) {
	f := func(want string, kinds ...finding.SymptomKind) {
		t.Helper()
		var s []finding.Symptom
		for _, k := range kinds {
			s = append(s, finding.Symptom{Kind: k})
		}
		if got := Bound(s); got != want {
			t.Errorf("%v: %q, want %q", kinds, got, want)
		}
	}
	f("")
	f("", finding.Scan, finding.DominantClass, finding.NotObservable)
	f("CPU-bound", finding.Scan, finding.CPUSaturated)
	f("I/O-bound", finding.IOWait)
	f("I/O-bound", finding.SlowReads, finding.PoolMisses)
	f("Bound by CPU and I/O", finding.SlowReads, finding.CPUSaturated)
	f("Lock-bound", finding.CPUSaturated, finding.LockQueue)
}
