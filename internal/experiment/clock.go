package experiment

import (
	"fmt"
	"math"
	"time"
)

// maxJump is how far the machine's clocks may part during one trial. Clocks that are slewed stay together: the slewing
// holds for all of them.
const maxJump = 500 * time.Millisecond

// clock reads the time for the engine.
type clock interface {
	now() instant
}

// instant is one moment on the clocks of the machine.
type instant struct {
	wall    time.Time     // that of the calendar, which can be set
	running time.Duration // since some moment, only while the machine runs
	asleep  time.Duration // that the machine has slept since it was started, 0 where that cannot be told
}

// parted says why what was measured between a and b has no times to be trusted; empty when the clocks agree.
func (a instant) parted(b instant) string {
	if slept := b.asleep - a.asleep; slept > maxJump {
		return fmt.Sprintf("the machine slept for %.1f s", slept.Seconds())
	}
	if jump := b.wall.Sub(a.wall) - (b.running - a.running); jump.Abs() > maxJump {
		return fmt.Sprintf("the machine's clock jumped by %+.1f s", jump.Seconds())
	}
	return ""
}

// machineClock is the clock of this machine.
type machineClock struct{ since time.Time }

// now reads all clocks, again when something came between the readings.
func (c machineClock) now() instant {
	var best instant
	width := time.Duration(math.MaxInt64)
	for range 10 {
		first := time.Since(c.since)
		at, slept := time.Now(), asleep()
		if w := time.Since(c.since) - first; w < width {
			best, width = instant{wall: at.Round(0), running: at.Sub(c.since), asleep: slept}, w
		}
		if width < 10*time.Millisecond {
			break
		}
	}
	return best
}
