package service

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

func TestTimedStatementsCountExactClassesOnly(t *testing.T) {
	at := time.Unix(1_800_000_000, 400_000_000)
	var x timed
	if got := x.add(ClassWindow{To: at, Classes: []class.Class{{Count: 9, TimeSec: 9, Sampled: true}}}); got != nil {
		t.Fatalf("samples were counted: %v", got)
	}
	x.add(ClassWindow{To: at, Classes: []class.Class{{Count: 10, TimeSec: 0.5}, {Count: 3, TimeSec: 9, Sampled: true}}})
	got := x.add(ClassWindow{To: at.Add(5 * time.Second), Classes: []class.Class{{Count: 30, TimeSec: 1.5}}})
	if len(got) != 2 || got[0].Value != 40 || got[1].Value != 2 || got[0].At != 1_800_000_005_000 {
		t.Fatalf("got %+v, want 40 statements in 2 s at the whole second", got)
	}
	if got = x.add(ClassWindow{To: at.Add(10 * time.Second)}); len(got) != 2 || got[0].Value != 40 {
		t.Fatalf("an idle window must keep the counters: %+v", got)
	}
}
