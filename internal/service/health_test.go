package service

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// TestHealth: gaps, late readings, failing sources and refused writes are told while they last, and nothing else is.
func TestHealth(t *testing.T) {
	m := &member{entry: ledger.Target{Name: "shop"}}
	s := wired(&Service{app: &app.App{Home: "/nowhere"}})
	s.Fleet.members["shop"] = m
	now := clock.Now()
	// minute reads a minute that ends now, each reading so late, with a source in a state.
	minute := func(late float64, src source.State, events ...event.Event) {
		for i := range 60 {
			r := reading.Reading{
				At: now.Add(time.Duration(i-59) * time.Second), State: &state.State{Up: true}, Events: events,
				Sources: []source.Source{{Name: "innodb_status", State: src}},
				Samples: []metric.Sample{{Name: "dyno_scrape_late_seconds", Value: late}},
			}
			m.health.read(r, time.Second)
			events = nil
		}
	}
	f := func(want ...string) {
		t.Helper()
		all := s.Health()
		if len(all) != len(want) {
			t.Fatalf("%+v, want %q", all, want)
		}
		for i, x := range all {
			if got := x.Severity + " " + x.Kind + ": " + x.Text; !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s, want %s", got, want[i])
			}
		}
	}
	f()
	minute(0.01, source.OK)
	f()
	minute(0.3, source.Slow)
	f("warn sources: 1 data source of shop failed for 30s or longer: innodb_status.",
		"warn late: Scrapes of shop are late")
	minute(0.01, source.OK, event.Event{
		Kind: event.Gap, Cause: event.NoCPU, At: now.Add(-70 * time.Second),
		Until: now.Add(-60 * time.Second), Text: "no samples: Dyno got no CPU",
	},
		event.Event{
			Kind: event.Down, At: now.Add(-70 * time.Second), Until: now.Add(-60 * time.Second),
			Text: "the server did not answer: gone",
		})
	f("warn gaps: Gaps in the data of shop: 10s of the last 15m0s.")
	m.health.gaps[0].At = m.health.gaps[0].Until.Add(-2 * time.Second)
	f()
	m.health.gaps = nil
	m.health.store(syscall.EIO)
	f("bad store: Metrics of shop are not stored")
	m.health.store(series.ErrFull)
	f("bad disk: The disk is full: metrics of shop are not stored.")
	m.health.store(&series.OutOfOrderError{})
	f()
	m.health.at = time.Now().Add(-time.Minute)
	f("bad late: No data of shop for more than 10s")
}
