package target

import (
	"sync"
	"time"
)

// malformed remembers the places whose logins were none: the driver keeps what it has read of each, so that for a while
// nothing is asked there again, by whatever pool, asker or session.
var malformed = held{at: map[string]heldPlace{}}

// forgetMalformed is after how long without a malformed login a place is like any other. A good one in between says
// nothing.
const forgetMalformed = 2 * retryFullMax

type held struct {
	mu sync.Mutex
	at map[string]heldPlace
}

type heldPlace struct {
	err   error
	last  time.Time
	pause time.Duration
	asked int       // how many logins of changes were malformed all the same in this pause
	next  time.Time // when a change may try again
}

// mostAsked is how many malformed logins a change may have in one pause, each after twice the time of the one before:
// it may be to end what blocks others.
const mostAsked = 5

// why returns the error for which a place is left alone now; nil when it is not.
func (h *held) why(place string, change bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.at[place]
	if time.Since(p.last) >= p.pause {
		return nil
	}
	if change && p.asked < mostAsked && !time.Now().Before(p.next) {
		return nil
	}
	return p.err
}

// add leaves a place alone, each time for longer.
func (h *held) add(place string, change bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if p := h.at[place]; now.Sub(p.last) < p.pause { // of several under way at once the first counts
		if change {
			p.next = now.Add(time.Second << p.asked)
			p.asked++
			h.at[place] = p
		}
		return
	}
	for at, p := range h.at {
		if now.Sub(p.last) > forgetMalformed {
			delete(h.at, at)
		}
	}
	h.at[place] = heldPlace{err: err, last: now, pause: Patience(err, h.at[place].pause)}
}
