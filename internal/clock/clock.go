// Package clock provides the time stamp of everything that Dyno stores. It follows the system's
// clock, but follows a step of that clock only after the step has lasted. A wrong answer of a time
// server, a wrong clock at boot or a resumed machine must neither stamp measurements with a wrong
// year nor expire stored data. The package does not set the system's clock.
package clock

import (
	"sync"
	"time"
)

const (
	// slack is how far the system's clock may be adjusted at once and be followed at once.
	slack = 10 * time.Second
	// settle is how long a larger step must last to be followed.
	settle = 2 * time.Minute
)

// Earliest is a time before which no clock is right that runs this program.
var Earliest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// own is this process's course.
var own struct {
	sync.Mutex
	course
}

// Now returns the time: the system's, or while that has stepped by more than a moment what it would be without the
// step.
func Now() time.Time {
	own.Lock()
	defer own.Unlock()
	t, _ := own.now(system())
	return t
}

// Step returns how far ahead of Now the system's clock is, while that is not followed; else 0.
func Step() time.Duration {
	own.Lock()
	defer own.Unlock()
	_, step := own.now(system())
	return step
}

// course is time as it passes, whatever a clock is set to.
type course struct {
	wall  time.Time     // where it was last at one with the clock; zero: not begun
	at    time.Duration // when that was
	step  time.Duration // the clock is ahead by so much; 0: it is followed
	since time.Duration // when it stepped
}

// now takes what the clock says and the time that has passed since some moment, and returns the time and the step that
// is not followed yet.
func (c *course) now(wall time.Time, passed time.Duration) (time.Time, time.Duration) {
	expected := c.wall.Add(passed - c.at).Round(0) // what bears no monotonic reading is compared by the wall
	step := wall.Sub(expected)
	switch {
	case c.wall.IsZero(), step.Abs() <= slack, expected.Before(Earliest):
	case c.step == 0, (step - c.step).Abs() > slack:
		c.step, c.since = step, passed
		return expected, step
	case passed-c.since < settle:
		return expected, c.step
	}
	c.wall, c.at, c.step = wall.Round(0), passed, 0
	return wall, 0
}

// Horizon is the moment that ages of what is stored are counted back from. It follows the clock, but only four times as
// fast as time passes: a clock that is a year ahead for an hour expires four hours' worth. The zero value is ready to
// use.
type Horizon struct {
	mu   sync.Mutex
	at   time.Time
	seen time.Duration
}

// Next returns the moment. now is the time; due is when the oldest of what is kept is to go, zero when nothing is kept:
// with it the first call expires nothing at once that the passing of time has not made due.
func (h *Horizon) Next(now, due time.Time) time.Time {
	_, passed := system()
	return h.next(now, due, passed)
}

func (h *Horizon) next(now, due time.Time, passed time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.at.IsZero():
		h.at = h.at.Add(4 * (passed - h.seen))
	case due.IsZero():
		h.at = now
	default:
		h.at = due
	}
	if h.at.After(now) {
		h.at = now
	}
	h.at, h.seen = h.at.Round(0), passed
	return h.at
}
