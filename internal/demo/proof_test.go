package demo

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/postgres/loader"
)

// TestFailures: errors after which a load tries again spoil no window, whichever family's they are.
func TestFailures(t *testing.T) {
	retried, _ := loader.Server{}.Retried()
	for _, errors := range []map[string]uint64{{"40001": 7}, {"40P01": 7}, {}, nil} {
		if n := failures(loadresult.Tick{Errors: errors}, retried); n != 0 {
			t.Errorf("%v: %d failures", errors, n)
		}
	}
	if n := failures(loadresult.Tick{Errors: map[string]uint64{"40001": 7, "42P01": 2, "lost": 1}}, retried); n != 3 {
		t.Errorf("%d failures, want 3", n)
	}
}
