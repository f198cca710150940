package service

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestNothingObservedIsNotNothing: a window in which no source told anything is not handed on as one in which nothing
// ran.
func TestNothingObservedIsNotNothing(t *testing.T) {
	got := 0
	w := &watcher{class: func(ClassWindow) { got++ }}
	c := ClassWindow{From: time.Unix(0, 0), To: time.Unix(5, 0), Took: 5 * time.Second}
	f := func(want int, states ...source.State) {
		t.Helper()
		var sources []source.Source
		for _, x := range states {
			sources = append(sources, source.Source{State: x})
		}
		got = 0
		if w.window(c, sources, nil); got != want {
			t.Errorf("%v: handed on %d times", states, got)
		}
	}
	f(0)
	f(0, source.Failed, source.Failed)
	f(0, source.Denied, source.Missing)
	f(1, source.OK, source.Failed)
}

// TestCostShownIsWhatWasSpent watches a server with sources of several cadences and holds the cost that each state
// shows against what the sources themselves say they took: a source that is read now and then must not count with all
// it ever took.
func TestCostShownIsWhatWasSpent(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	spent := map[string]float64{} // by source, newest
	var before, classes float64
	var at time.Time
	var shown int
	w := &watcher{
		name: "x", named: func(context.Context) family.Family { return mysql.Family{} },
		open: func(ctx context.Context) (family.Server, error) { return mysql.Family{}.Open(ctx, spec) },
		o:    Watching{Scrape: scrape.Options{}, Classes: 2 * time.Second},
		read: func(r reading.Reading) {
			for _, x := range r.Samples {
				switch x.Name {
				case "dyno_source_seconds_total":
					spent[x.Labels.Get("source")] = x.Value
				case "dyno_classes_server_seconds_total":
					classes = x.Value
				}
			}
			sum := classes
			for _, v := range spent {
				sum += v
			}
			if v, ok := r.State.Get(state.ScrapeServer).Get(); ok && !at.IsZero() {
				want := (sum - before) / r.At.Sub(at).Seconds()
				if d := v - want; d > 1e-4 || d < -1e-4 {
					t.Errorf("at %s: %v a second are shown, the sources took %v", r.At.Format(time.TimeOnly), v, want)
				}
				shown++
			}
			before, at = sum, r.At
			if shown >= 12 && classes > 0 {
				stop()
			}
		},
	}
	w.run(ctx)
	if shown < 12 || classes <= 0 || len(spent) < 8 {
		t.Errorf("%d states showed a cost, reading classes took %v s, %d sources", shown, classes, len(spent))
	}
	if !slices.Contains(sources.Names(), "variables") || spent["variables"] == 0 {
		t.Error("no source of a slow cadence was read, so that this shows nothing")
	}
}

// TestCutWindow: of a window whose beginning was lost the rates are over the rest, sampled ones too, and of a moment
// there are none.
func TestCutWindow(t *testing.T) {
	to := time.Unix(1_800_000_000, 0)
	window := func() ClassWindow {
		return ClassWindow{From: to.Add(-5 * time.Second), To: to, Took: 5 * time.Second, Classes: []class.Class{
			{ID: "counted", Count: 10, TimeSec: 2}, {
				ID: "seen", Count: 1, TimeSec: 5, Sampled: true,
				Examined: known.Of[uint64](100),
			},
		}}
	}
	c := window()
	c.cut(3 * time.Second)
	if c.From != to.Add(-2*time.Second) || c.Took != 2*time.Second || c.Classes[0].TimeSec != 2 ||
		c.Classes[1].TimeSec != 2 || c.Classes[1].Count != 1 || c.Classes[1].Examined.Or(0) != 40 {
		t.Errorf("%+v", c)
	}
	c = window()
	c.cut(4990 * time.Millisecond)
	if c.Took != 0 || len(c.Classes) != 0 || c.From != to {
		t.Errorf("%+v", c)
	}
	c = window()
	c.cut(0)
	if c.Took != 5*time.Second || c.Classes[1].TimeSec != 5 {
		t.Errorf("%+v", c)
	}
}

// TestMistakeInWatchingEndsNothingElse: what one server says, and a mistake that it brings to light, must not end the
// process that watches others.
func TestMistakeInWatchingEndsNothingElse(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	opens, reasons := 0, []string{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	mistakes := map[string]bool{"open": true, "read": true, "rights": true, "class": true, "plan": true}
	var mu sync.Mutex
	mistaken := func(where string) {
		mu.Lock()
		defer mu.Unlock()
		if mistakes[where] {
			delete(mistakes, where)
			panic("mistake in " + where)
		}
	}
	untold := func() (all []string) {
		told := strings.Join(reasons, "\n")
		for _, where := range []string{"open", "read", "rights", "class", "plan"} {
			if !strings.Contains(told, "mistake in "+where) {
				all = append(all, where)
			}
		}
		return all
	}
	w := &watcher{
		o:     Watching{Every: 100 * time.Millisecond, Classes: 200 * time.Millisecond},
		named: func(context.Context) family.Family { return mysql.Family{} },
		open: func(ctx context.Context) (family.Server, error) {
			opens++
			mistaken("open")
			return mysql.Family{}.Open(ctx, spec)
		},
		read: func(r reading.Reading) {
			if r.State.Up {
				mistaken("read")
			} else {
				reasons = append(reasons, r.State.Reason)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(mistakes) == 0 && len(untold()) == 0 { // a reading of before may come first
				cancel()
			}
		},
		class:  func(ClassWindow) { mistaken("class") },
		plan:   func(context.Context, family.Server, ClassWindow) { mistaken("plan") },
		rights: func(ctx context.Context, _ family.Server) { mistaken("rights"); <-ctx.Done() },
	}
	w.run(ctx)
	if len(mistakes) > 0 {
		t.Errorf("after %d connections left: %v", opens, mistakes)
	}
	if not := untold(); len(not) > 0 {
		t.Errorf("mistakes that are not told: %v", not)
	}
}

// TestEventsWithTimesOfTheServer: events that bear a time out of all reason, by what the server says of its age, are of
// now.
func TestEventsWithTimesOfTheServer(t *testing.T) {
	var got []event.Event
	w := &watcher{read: func(r reading.Reading) { got = r.Events }}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w.round(reading.Reading{At: at, Events: []event.Event{
		{At: at.Add(-time.Hour), Kind: event.DDL},
		{At: at.Add(time.Minute), Kind: event.Restart},
		{At: at.AddDate(-68, 0, 0), Kind: event.DDL},
	}})
	for i, want := range []time.Time{at.Add(-time.Hour), at, at} {
		if !got[i].At.Equal(want) {
			t.Errorf("%v, want %v", got[i], want)
		}
	}
}

// TestSlowIsNotDown: a server that does not answer in time counts as down only after a while, and one that refuses at
// once.
func TestSlowIsNotDown(t *testing.T) {
	var slow []bool
	w := &watcher{name: "shop", totals: source.GlobalStatus, read: func(r reading.Reading) {
		if r.State.Up || (r.State.Reason == "no answer in time") != (len(slow) != 3) {
			t.Errorf("up %v, reason %q", r.State.Up, r.State.Reason)
		}
		slow = append(slow, r.State.Slow)
	}}
	for i, s := range []source.State{
		source.Slow, source.Slow, source.Slow,
		source.Failed, source.Slow,
	} {
		w.round(reading.Reading{
			At:      time.Unix(1000+int64(i), 0),
			Sources: []source.Source{{Name: "global_status", State: s, Reason: "no answer within 466ms"}},
		})
	}
	if want := []bool{true, true, false, false, true}; !slices.Equal(slow, want) {
		t.Errorf("%v, want %v", slow, want)
	}
}
