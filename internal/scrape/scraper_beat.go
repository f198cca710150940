package scrape

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
)

// beat gives the times of rounds: whole multiples of an interval, each later than the one before unless the clock was
// set back by more than a moment. What it misses it tells as events.
type beat struct {
	every time.Duration
	// steady runs on when the clock is set; it stands still while the machine sleeps
	now   func() (wall time.Time, steady time.Duration)
	sleep func(ctx context.Context, d time.Duration) bool

	last   time.Time // of the last round
	wall   time.Time // when that began
	steady time.Duration
}

// backLimit is how much the clock may be set back for the rounds to wait until it has passed its old time again.
// Beyond, time is what the clock says now.
const backLimit = 10 * time.Second

func newBeat(every time.Duration) *beat {
	start := time.Now()
	return &beat{
		every: every,
		now: func() (time.Time, time.Duration) {
			return clock.Now().Round(0), time.Since(start)
		},
		sleep: func(ctx context.Context, d time.Duration) bool {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return false
			case <-t.C:
				return ctx.Err() == nil
			}
		},
	}
}

// next waits for the next round. It is not ok when ctx has ended.
func (b *beat) next(ctx context.Context) (at time.Time, missed []event.Event, ok bool) {
	_, entered := b.now()
	for {
		wall, _ := b.now()
		at = wall.Truncate(b.every).Add(b.every)
		if !b.last.IsZero() && !at.After(b.last) && b.last.Sub(at) < backLimit {
			at = b.last.Add(b.every)
		}
		if !b.sleep(ctx, at.Sub(wall)) {
			return at, nil, false
		}
		wall, steady := b.now()
		if late := wall.Sub(at); late > b.every/2 || late < -b.every/2 {
			// nearer to another one, or the clock was set meanwhile
			continue
		}
		if !b.last.IsZero() {
			missed = b.told(at, wall, steady, entered)
		}
		b.last, b.wall, b.steady = at, wall, steady
		return at, missed, true
	}
}

// told returns what is to be said about the time between the last round and this one.
func (b *beat) told(at, wall time.Time, steady, entered time.Duration) []event.Event {
	passed := steady - b.steady
	step := wall.Sub(b.wall) - passed
	first := b.last.Add(b.every)
	e := event.Event{Kind: event.Gap, At: first, Until: at}
	switch {
	case step < -b.every/2 && !at.After(b.last):
		e.At, e.Until, e.Cause = at, time.Time{}, event.ClockBack
		e.Text = fmt.Sprintf("the clock was set back by %v: the times since %s repeat",
			short(-step), at.Format("15:04:05"))
	case step < -b.every/2:
		e.At, e.Until, e.Cause = at, time.Time{}, event.ClockBack
		e.Text = fmt.Sprintf("the clock was set back by %v: no samples for %v", short(-step), short(passed-b.every))
	case !at.After(first):
		return nil
	case step > b.every/2:
		e.Cause = event.ClockAhead
		e.Text = fmt.Sprintf("no samples: the clock went forward by %v, or the machine slept", short(step))
	case entered-b.steady > b.every:
		e.Cause = event.SlowScrape
		e.Text = fmt.Sprintf("no samples: the previous scrape took %v", short(entered-b.steady))
	default:
		e.Cause, e.Text = event.NoCPU, "no samples: Dyno got no CPU"
	}
	return []event.Event{e}
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
