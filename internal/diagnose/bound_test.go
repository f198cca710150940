package diagnose

import (
	"testing"

	"dyno/internal/finding"
)

func TestBound(t *testing.T) {
	f := func(want string, kinds ...string) {
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
	f("", Scan, DominantClass, NotObservable)
	f("CPU-bound", Scan, CPUSaturated)
	f("I/O-bound", IOWait)
	f("I/O-bound", SlowReads, PoolMisses)
	f("Bound by CPU and I/O", SlowReads, CPUSaturated)
	f("Lock-bound", CPUSaturated, LockQueue)
}
