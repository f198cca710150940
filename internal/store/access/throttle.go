package access

import (
	"sync"
	"time"
)

// Pauses between logins. A name has a few free tries, then each failure doubles the pause until the next try; an
// address has more, for many people may share one, and its pause grows further; each account of this machine has an
// address of its own. A name is never shut for longer than a minute at a time. At an address that it logged in from
// before it has a count of its own, and that one alone: a stranger who fails on purpose, under other names at the same
// address or under this one elsewhere, does not keep the owner out.
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
	known  map[string]bool // "name address" that logged in before
}

type count struct {
	failed int
	until  time.Time // no try before
	last   time.Time
}

func newThrottle() *throttle {
	return &throttle{counts: map[string]*count{}, known: map[string]bool{}}
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

// keys are what a try counts for, each with how many tries are free and how long its pauses are at most: a name known
// at an address has one of its own, without a name it is the address alone.
func (t *throttle) keys(name, address string) []key {
	byAddress := key{"a " + address, freeByAddress, mostByAddress}
	switch {
	case name == "":
		return []key{byAddress}
	case t.known[name+" "+address]:
		return []key{{"k " + name + " " + address, freeByName, mostByName}}
	}
	return []key{{"n " + name, freeByName, mostByName}, byAddress}
}

type key struct {
	name string
	free int
	most time.Duration
}

// left tells how long to wait yet until a try, or 0. It counts none.
func (t *throttle) left(name, address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wait(name, address, now)
}

func (t *throttle) wait(name, address string, now time.Time) (wait time.Duration) {
	for _, k := range t.keys(name, address) {
		if c := t.counts[k.name]; c != nil {
			if now.Sub(c.last) > forgetAfter {
				delete(t.counts, k.name)
			} else {
				wait = max(wait, c.until.Sub(now))
			}
		}
	}
	return wait
}

// begin asks for a try at now. It returns how long to wait yet, or 0: then the try counts as failed until succeed tells
// otherwise, so that tries at the same time do not all pass.
func (t *throttle) begin(name, address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := t.wait(name, address, now); wait > 0 {
		return wait
	}
	t.shrink(now)
	for _, k := range t.keys(name, address) {
		c := t.counts[k.name]
		if c == nil {
			c = &count{}
			t.counts[k.name] = c
		}
		c.failed++
		c.last, c.until = now, now.Add(pauseOf(c.failed, k.free, k.most))
	}
	return 0
}

// succeed takes back the failure that begin counted. The name begins anew; the address only loses this one, for
// somebody with one right password must not be able to try the others' without end.
func (t *throttle) succeed(name, address string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.keys(name, address) {
		c := t.counts[k.name]
		switch {
		case c == nil:
		case k.most == mostByName || c.failed <= 1:
			delete(t.counts, k.name)
		default:
			c.failed--
			c.until = now.Add(pauseOf(c.failed, k.free, k.most))
		}
	}
	t.remember(name, address)
}

// know remembers that a name logged in from an address.
func (t *throttle) know(name, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remember(name, address)
}

func (t *throttle) remember(name, address string) {
	if len(t.known) >= maxCounts {
		clear(t.known)
	}
	t.known[name+" "+address] = true
}

// shrink keeps what is remembered bounded: the oldest go, but those that pause now stay as long as there is room at
// all.
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
