package sources

import (
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
)

// uptime notices that the server came up again, from readings of Uptime and Connections. Both begin anew with a server.
// Uptime alone would not do: it also falls when the server's clock is set back, and after a long gap it may have grown
// past what it was.
type uptime struct {
	seen, haveUp, haveConns bool
	last, now               life
}

// life is what a reading says of a server's age.
type life struct {
	up, conns float64
	gen       int       // of the connection, which no restart leaves alone
	at        time.Time // with the monotonic clock, so that steps of ours do not matter
}

// note takes a status variable of the present reading.
func (u *uptime) note(name []byte, v float64) {
	switch string(name) {
	case "Uptime":
		u.now.up, u.haveUp = v, true
	case "Connections":
		u.now.conns, u.haveConns = v, true
	}
}

// settle ends a reading that was taken at the moment now; at is the time that its samples carry. ok when the server has
// started since the reading before.
func (u *uptime) settle(gen int, at, now time.Time) (e event.Event, ok bool) {
	complete := u.haveUp && u.haveConns
	u.haveUp, u.haveConns = false, false
	if !complete {
		return e, false
	}
	before, seen := u.last, u.seen
	u.now.gen, u.now.at = gen, now
	u.last, u.seen = u.now, true
	passed := now.Sub(before.at).Seconds()
	switch {
	case !seen:
		return e, false
	case u.now.up > passed+2:
		// it was up already at the reading before: the same server, or another one, which is not for us to tell
		return e, false
	case u.now.conns < before.conns:
	case u.now.up < before.up && gen != before.gen:
	case passed > u.now.up+2: // 2 s for its whole seconds
	default:
		return e, false
	}
	text := fmt.Sprintf("the server started again; it had been up for %v",
		(time.Duration(before.up) * time.Second).String())
	if away := passed - u.now.up; away >= 2 {
		text += fmt.Sprintf("; no server ran for %.0f s at most before it, which does not count its way up", away)
	}
	return event.Event{At: at.Add(-time.Duration(u.now.up) * time.Second).UTC(), Kind: event.Restart, Text: text}, true
}
