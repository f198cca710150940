package history

import (
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

// A target with ever new statements, as one of its users may send, would fill its part of the history within an hour,
// and with it go the figures of all other users of that server. So what names of classes take that were never seen
// before has a bound for each target: classes beyond it are counted in one, Others, so that totals stay right.

// OthersText stands in place of the fingerprint of Others.
const OthersText = "statements of other classes, which were too many to keep"

// Others is the id of the class that counts the statements of classes for whose names there is no room.
var Others = class.ID(OthersText)

// These bound the names of new classes of a target, bytes: at once, as when it is first watched, and in an hour then.
const (
	newAtOnce  = 16 << 20
	newAnHour  = 1 << 20
	classBytes = 200 // what a class takes besides its texts
)

// allowance is what a target may still name.
type allowance struct {
	left float64
	at   time.Time
}

// mayName takes the name of a new class off what its target may still name, and reports whether there was room for it.
func mayName(h *History, target int64, c class.Class) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.fresh[target]
	if a == nil {
		a = &allowance{left: float64(h.newAtOnce), at: time.Now()}
		h.fresh[target] = a
	}
	a.left = min(float64(h.newAtOnce), a.left+newAnHour*time.Since(a.at).Hours())
	a.at = time.Now()
	n := float64(len(c.Fingerprint) + 2*len(c.Schema) + len(c.Digest) + classBytes)
	if n > a.left {
		return false
	}
	a.left -= n
	return true
}

// InOthers returns the figures of a class as those of Others.
func InOthers(c class.Class) class.Class {
	c.ID, c.Fingerprint, c.Schema, c.Digest, c.Guessed = Others, OthersText, "", "", false
	c.Example, c.Users, c.Hosts = "", nil, nil
	return c
}
