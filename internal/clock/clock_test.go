package clock

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const year = 365 * 24 * time.Hour

// TestCourse sets a clock while time passes: only what has lasted is followed.
func TestCourse(t *testing.T) {
	var c course
	at := time.Hour // passed
	f := func(pass, off, want time.Duration) {
		t.Helper()
		at += pass
		passed := at - time.Hour
		got, step := c.now(noon.Add(passed+off), at)
		if d := got.Sub(noon.Add(passed)); d != want || step != off-want {
			t.Errorf("after %v with the clock off by %v: off by %v, step %v, want %v", passed, off, d, step, want)
		}
	}
	f(0, 0, 0)
	f(time.Second, 3*time.Second, 3*time.Second) // adjusted
	f(time.Second, -2*time.Second, -2*time.Second)
	f(time.Second, 0, 0)
	f(time.Second, year, 0) // a bad answer
	f(30*time.Second, year, 0)
	f(time.Second, 0, 0)
	f(time.Second, -year, 0)
	f(100*time.Second, -year, 0)
	f(time.Second, year, 0) // another step: its time counts from here
	f(100*time.Second, year, 0)
	f(20*time.Second, year, year) // it has lasted
	f(time.Second, year, year)
	f(time.Second, 0, year)
	f(settle, 0, 0)
	f(8*time.Hour, 0, 0) // the machine slept: that is no step
}

// TestCourseOfADeadClock follows the first step of a clock that began before this program was made.
func TestCourseOfADeadClock(t *testing.T) {
	var c course
	c.now(time.Unix(60, 0), time.Minute)
	if got, step := c.now(noon, 2*time.Minute); !got.Equal(noon) || step != 0 {
		t.Errorf("%v, step %v", got, step)
	}
}

func TestNow(t *testing.T) {
	for range 3 {
		if d := time.Until(Now()).Abs(); d > time.Minute || Step() != 0 {
			t.Errorf("off by %v, step %v", d, Step())
		}
	}
}

func TestHorizon(t *testing.T) {
	var h Horizon
	f := func(passed, now, due, want time.Duration) {
		t.Helper()
		d := time.Time{}
		if due != 0 {
			d = noon.Add(due)
		}
		if got := h.next(noon.Add(now), d, passed); !got.Equal(noon.Add(want)) {
			t.Errorf("after %v: %v, want %v", passed, got.Sub(noon), want)
		}
	}
	f(0, 0, 0, 0)
	f(time.Minute, time.Minute, 0, time.Minute)
	f(2*time.Minute, year, 0, 5*time.Minute) // a clock a year ahead
	f(time.Hour, year, 0, 5*time.Minute+4*58*time.Minute)
	f(2*time.Hour, 2*time.Hour, 0, 2*time.Hour) // set right
	f(3*time.Hour, 0, 0, 0)                     // set back
	h = Horizon{}
	f(0, year, 10*time.Minute, 10*time.Minute) // begun with a wrong clock: the oldest goes when it was to go
	f(time.Minute, year, time.Minute, 14*time.Minute)
	h = Horizon{}
	f(0, time.Hour, year, time.Hour) // nothing is due for long
}
