package load

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
)

func TestFairness(t *testing.T) {
	if fairness(nil) != nil {
		t.Error("no sessions are fair to each other")
	}
	got := fairness([]*flow{{events: 10, spent: 4 * time.Second}, {events: 14, spent: 8 * time.Second}})
	if want := (loadresult.Fairness{Events: 12, EventsSD: 2, Seconds: 6, SecondsSD: 2}); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
}
