package alter

import (
	"slices"
	"strings"
	"time"
)

// course is what the looks at a running change have shown. The server takes the metadata lock for itself twice, before
// it begins to work and before it ends, and looks the same both times: only what was seen in between tells one from the
// other.
type course struct {
	sent   time.Time
	seen   time.Time // the last look that was answered
	waits  time.Time // since when it has waited for a lock, zero while it does not
	begun  time.Time // when it was first seen at work, zero before
	worked time.Time // when it was last seen at work
}

// early are the states, in lower case, in which a server has not begun to work on an ALTER TABLE: MySQL 5.6 to 9,
// MariaDB 10 and 11.
var early = []string{
	"", "init", "starting", "executing", "checking permissions", "opening tables", "after opening tables",
	"opening table", "closing tables", "setup",
	"system lock", "table lock", "creating table", "after create", "query end", "executing hook on transaction begin.",
}

// waiting reports whether a session in that state waits for a lock: on the table, its schema, or against backups.
func waiting(state string) bool {
	s := strings.ToLower(state)
	return strings.HasPrefix(s, "waiting for") && strings.Contains(s, "lock")
}

// see takes one look: the state of the change's session, and the share of the work that is done.
func (x *course) see(state string, done float64, now time.Time) {
	last := x.seen
	if last.IsZero() {
		last = x.sent
	}
	x.seen = now
	blind := now.Sub(last) >= longBuild // it may have built as long as that meanwhile
	switch {
	case !waiting(state):
		x.waits = time.Time{}
	case x.waits.IsZero():
		x.waits = now
	}
	switch {
	case done > 0, !waiting(state) && !slices.Contains(early, strings.ToLower(state)):
		if x.begun.IsZero() {
			x.begun = now
		}
		if !waiting(state) {
			x.worked = now
		}
	case blind && x.begun.IsZero():
		x.begun = last
	}
}

// built returns how long the server had worked when it gave up at a time, after a wait for the lock.
func (x *course) built(gaveUp time.Time, wait time.Duration) time.Duration {
	end := x.waits
	if end.IsZero() { // no look saw it wait
		end = gaveUp.Add(-wait)
	}
	if x.worked.After(end) {
		end = x.worked
	}
	return max(0, end.Sub(x.begun))
}

// pace returns how long to wait before the next look. What is built between two looks without being seen is less than
// can be lost without regret.
func (x *course) pace() time.Duration {
	if x.begun.IsZero() {
		return firstPoll
	}
	return poll
}
