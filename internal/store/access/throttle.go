package access

import (
	"sync"
	"time"
)

// Pauses between logins. A name has a few free tries, then each failure doubles the pause until the next try; an address has more, for
// many people may share one, and its pause grows further. A name is never shut for longer than a minute at a time, and from an address
// that logged in with it before it has a count of its own: a stranger who fails on purpose does not keep the owner out.
const (
	freeByName    = 4
	freeByAddress = 12
	mostByName    = time.Minute
	mostByAddress = 15 * time.Minute
	forgetAfter   = time.Hour // after the last failure
	maxCounts     = 20_000    // names and addresses that are remembered
)

// throttle counts failed logins. It reads no clock. It is safe for concurrent use.
type throttle struct {
	mu     sync.Mutex
	counts map[string]*count
	known  map[string]time.Time // "name address" that logged in since the start, and when
}

type count struct {
	failed int
	until  time.Time // no try before
	last   time.Time
}

func newThrottle() *throttle {
	return &throttle{counts: map[string]*count{}, known: map[string]time.Time{}}
}

// pauseOf is how long after the nth failure nothing is tried.
func pauseOf(failed, free int, most time.Duration) time.Duration {
	if failed <= free {
		return 0
	}
	d := time.Second
	for range failed - free - 1 {
		if d *= 2; d >= most {
			return most
		}
	}
	return min(d, most)
}

// keys are what a try counts for. Without a name it is the address alone, and byName is "".
func (t *throttle) keys(name, address string) (byName, byAddress string) {
	byAddress = "a " + address
	if name == "" {
		return "", byAddress
	}
	if _, ok := t.known[name+" "+address]; ok {
		return "k " + name + " " + address, byAddress
	}
	return "n " + name, byAddress
}

// left tells how long to wait yet until a try, or 0. It counts none.
func (t *throttle) left(name, address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wait(name, address, now)
}

func (t *throttle) wait(name, address string, now time.Time) (wait time.Duration) {
	byName, byAddress := t.keys(name, address)
	for _, k := range []string{byName, byAddress} {
		if c := t.counts[k]; c != nil {
			if now.Sub(c.last) > forgetAfter {
				delete(t.counts, k)
			} else {
				wait = max(wait, c.until.Sub(now))
			}
		}
	}
	return wait
}

// begin asks for a try at now. It returns how long to wait yet, or 0: then the try counts as failed until succeed tells otherwise, so
// that tries at the same time do not all pass.
func (t *throttle) begin(name, address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := t.wait(name, address, now); wait > 0 {
		return wait
	}
	byName, byAddress := t.keys(name, address)
	t.shrink(now)
	fail := func(k string, free int, most time.Duration) {
		c := t.counts[k]
		if c == nil {
			c = &count{}
			t.counts[k] = c
		}
		c.failed++
		c.last, c.until = now, now.Add(pauseOf(c.failed, free, most))
	}
	if byName != "" {
		fail(byName, freeByName, mostByName)
	}
	fail(byAddress, freeByAddress, mostByAddress)
	return 0
}

// succeed takes back the failure that begin counted. The name begins anew; the address only loses this one, for somebody with one right
// password must not be able to try the others' without end.
func (t *throttle) succeed(name, address string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	byName, byAddress := t.keys(name, address)
	delete(t.counts, byName)
	if c := t.counts[byAddress]; c != nil {
		if c.failed--; c.failed <= 0 {
			delete(t.counts, byAddress)
		} else {
			c.until = now.Add(pauseOf(c.failed, freeByAddress, mostByAddress))
		}
	}
	if name == "" {
		return
	}
	if len(t.known) >= maxCounts {
		clear(t.known)
	}
	t.known[name+" "+address] = now
}

// shrink keeps what is remembered bounded: the oldest go, but those that pause now stay as long as there is room at all.
func (t *throttle) shrink(now time.Time) {
	if len(t.counts) < maxCounts {
		return
	}
	for k, c := range t.counts {
		if now.Sub(c.last) > forgetAfter || c.until.Before(now) {
			delete(t.counts, k)
		}
	}
	if len(t.counts) >= maxCounts {
		clear(t.counts)
	}
}
