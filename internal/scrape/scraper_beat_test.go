package scrape

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
)

// clockwork is a clock that tests set.
type clockwork struct {
	wall   time.Time
	steady time.Duration
	during []func() // what happens while somebody sleeps, in turn
}

func (c *clockwork) pass(d time.Duration) { c.wall, c.steady = c.wall.Add(d), c.steady+d }

func (c *clockwork) beat(every time.Duration) *beat {
	return &beat{
		every: every, now: func() (time.Time, time.Duration) { return c.wall, c.steady },
		sleep: func(_ context.Context, d time.Duration) bool {
			if len(c.during) > 0 {
				f := c.during[0]
				c.during = c.during[1:]
				f()
			}
			c.pass(max(d, 0) + 2*time.Millisecond)
			return true
		},
	}
}

func TestBeat(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 400e6, time.UTC)
	causes := map[string]event.Cause{
		"previous scrape took 2.5s": event.SlowScrape, "got no CPU": event.NoCPU,
		"forward by 1h0m0s": event.ClockAhead, "forward by 1.2s": event.ClockAhead,
		"set back by 3s: no samples for 3s": event.ClockBack, "times since 11:00:03 repeat": event.ClockBack,
		"set back by 1h0m0s: the times since 11:00:02 repeat": event.ClockBack,
	}
	f := func(name string, happens func(c *clockwork), wantAt, wantText, wantFrom, wantUntil string) {
		t.Helper()
		c := &clockwork{wall: noon, steady: time.Hour}
		b := c.beat(time.Second)
		if at, missed, ok := b.next(t.Context()); !ok || at.Format("15:04:05.000") != "12:00:01.000" || missed != nil {
			t.Fatalf("%s: began at %v with %v", name, at, missed)
		}
		c.pass(20 * time.Millisecond)
		happens(c)
		at, missed, ok := b.next(t.Context())
		if !ok || at.Format("15:04:05") != wantAt {
			t.Errorf("%s: then %v, want %s", name, at, wantAt)
		}
		if wantText == "" {
			if len(missed) != 0 {
				t.Errorf("%s: told %+v", name, missed)
			}
		} else {
			var until string
			if len(missed) == 1 && !missed[0].Until.IsZero() {
				until = missed[0].Until.Format("15:04:05")
			}
			if len(missed) != 1 || missed[0].Kind != event.Gap || missed[0].Cause != causes[wantText] ||
				!strings.Contains(missed[0].Text, wantText) ||
				missed[0].At.Format("15:04:05") != wantFrom || until != wantUntil {
				t.Errorf("%s: told %+v, want %q from %s to %s", name, missed, wantText, wantFrom, wantUntil)
			}
		}
		next, missed, ok := b.next(t.Context()) // all is well again
		if !ok || !next.Equal(at.Add(time.Second)) || len(missed) != 0 {
			t.Errorf("%s: after %v came %v with %v", name, at, next, missed)
		}
	}
	set := func(d time.Duration) func(c *clockwork) { return func(c *clockwork) { c.wall = c.wall.Add(d) } }
	later := func(g func(c *clockwork)) func(c *clockwork) {
		return func(c *clockwork) { c.during = append(c.during, func() { g(c) }) }
	}
	f("nothing", func(*clockwork) {}, "12:00:02", "", "", "")
	f("a hair late", func(c *clockwork) { c.pass(900 * time.Millisecond) }, "12:00:02", "", "", "")
	f("a long round", func(c *clockwork) { c.pass(2500 * time.Millisecond) }, "12:00:04", "previous scrape took 2.5s",
		"12:00:02", "12:00:04")
	f("a busy machine", later(func(c *clockwork) { c.pass(3 * time.Second) }), "12:00:06", "got no CPU",
		"12:00:02", "12:00:06")
	f("forward, in the round", set(time.Hour), "13:00:02", "forward by 1h0m0s", "12:00:02", "13:00:02")
	f("forward, asleep", later(set(time.Hour)), "13:00:03", "forward by 1h0m0s", "12:00:02", "13:00:03")
	f("a little forward", set(1200*time.Millisecond), "12:00:03", "forward by 1.2s", "12:00:02", "12:00:03")
	f("back a little", set(-3*time.Second), "12:00:02", "set back by 3s: no samples for 3s", "12:00:02", "")
	f("back far, in the round", set(-time.Hour), "11:00:02", "set back by 1h0m0s: the times since 11:00:02 repeat",
		"11:00:02", "")
	f("back far, asleep", later(set(-time.Hour)), "11:00:03", "times since 11:00:03 repeat", "11:00:03", "")
	f("back a hair", set(-300*time.Millisecond), "12:00:02", "", "", "")
}

func TestBeatEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, ok := newBeat(time.Hour).next(ctx); ok {
		t.Error("it goes on")
	}
}
