// Package lock holds what is kept of locks over time: deadlocks that a server resolved, and waits
// that lasted.
package lock

import (
	"cmp"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
)

// Lock is one lock that a session holds or waits for.
type Lock struct {
	Kind   string `json:"kind"`            // "row", "table", "metadata", "global", "user"
	Object string `json:"object,omitzero"` // schema.table
	Index  string `json:"index,omitzero"`
	Mode   string `json:"mode,omitzero"` // as the server words it: "X locks rec but not gap"
	// Record is the first columns of the locked row as the server prints them. They are values of
	// the table, kept apart from the rest so that they can be withheld.
	Record []string `json:"record,omitempty"`
}

// Party is one session of a deadlock.
type Party struct {
	Session     uint64               `json:"session,omitzero"` // as KILL takes it; 0 is unknown
	Transaction string               `json:"transaction,omitzero"`
	User        string               `json:"user,omitzero"`
	Host        string               `json:"host,omitzero"`
	Seconds     known.Value[float64] `json:"seconds,omitzero"` // since its transaction began
	Class       string               `json:"class,omitzero"`   // id of its statement's query class
	Fingerprint string               `json:"fingerprint,omitzero"`
	// SQL is its statement with literals, the only field that has them, except records of locks.
	SQL    string `json:"sql,omitzero"`
	Holds  []Lock `json:"holds,omitempty"`
	Waits  []Lock `json:"waits,omitempty"`
	Victim bool   `json:"victim,omitzero"` // it was rolled back
}

// Where a deadlock was read.
const (
	FromStatus = "status" // the engine's status text, which shows the latest only
	FromLog    = "log"    // the server's error log
)

// Deadlock is one deadlock that the server resolved.
type Deadlock struct {
	ID      string    `json:"id"` // the same wherever and however often it was seen
	At      time.Time `json:"at"`
	From    string    `json:"from"` // "status" or "log"
	Parties []Party   `json:"parties"`
	// Why says why no party is marked as the victim; empty when one is.
	Why string `json:"victim_unknown,omitzero"`
}

// Victim returns the session that was rolled back, if it is known.
func (d *Deadlock) Victim() (p Party, ok bool) {
	i := slices.IndexFunc(d.Parties, func(p Party) bool { return p.Victim })
	if i < 0 {
		return p, false
	}
	return d.Parties[i], true
}

// Missed is deadlocks that the server counted and of which it kept nothing that Dyno could read.
type Missed struct {
	From  time.Time `json:"from"` // they were after this time
	To    time.Time `json:"to"`   // and not after this one
	Count uint64    `json:"count"`
	Why   string    `json:"why,omitzero"` // and what would keep them
}

// Seen is what one scrape found of deadlocks.
type Seen struct {
	Deadlocks []Deadlock
	Missed    []Missed
}

// Waiter is a session that waited in a Wait.
type Waiter struct {
	Session     uint64              `json:"session"`
	Blocker     known.Value[uint64] `json:"blocker,omitzero"` // the session right above it
	Lock        Lock                `json:"lock"`             // that it waited for
	Held        string              `json:"held,omitzero"`    // mode of the one in its way
	Since       time.Time           `json:"since"`
	Seconds     float64             `json:"seconds"` // how long it waited, as far as it was seen
	Depth       int                 `json:"depth"`   // 1 waits for the root itself
	User        string              `json:"user,omitzero"`
	Class       string              `json:"class,omitzero"`
	Fingerprint string              `json:"fingerprint,omitzero"`
	SQL         string              `json:"sql,omitzero"` // its statement with literals
	Root        known.Value[uint64] `json:"root,omitzero"`
	RootClass   string              `json:"root_class,omitzero"` // of that session when the wait was first seen
}

// Root is the session at the top of a Wait and what it was doing.
type Root struct {
	Session     known.Value[uint64]  `json:"session,omitzero"`
	Why         string               `json:"unknown,omitzero"` // with an unknown session: why
	Cycle       bool                 `json:"cycle,omitzero"`   // it waited for one of its own waiters
	User        string               `json:"user,omitzero"`
	Host        string               `json:"host,omitzero"`
	Idle        bool                 `json:"idle,omitzero"`                // it ran no statement
	Since       time.Time            `json:"since,omitzero"`               // when its statement or idleness began
	Transaction known.Value[float64] `json:"transaction_seconds,omitzero"` // age of its transaction when it blocked most
	Class       string               `json:"class,omitzero"`
	Fingerprint string               `json:"fingerprint,omitzero"`
	// SQL is its statement with literals; the last one it ran if it was idle.
	SQL string `json:"sql,omitzero"`
}

// Wait is one time that sessions waited for one root, from the first that waited to the last.
type Wait struct {
	ID    string    `json:"id"`
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`           // when it was last seen
	Open  bool      `json:"open,omitzero"` // it still went on then
	Root  Root      `json:"root"`          // when most sessions waited
	Depth int       `json:"depth"`         // the longest chain below the root
	Most  int       `json:"most"`          // sessions that waited at a time
	Total int       `json:"total"`         // sessions that waited longer than the threshold
	Left  int       `json:"left,omitzero"` // of these, not listed
	// Waiters lists the longest, at most MaxWaiters.
	Waiters []Waiter `json:"waiters"`
	Pairs   []Pair   `json:"pairs,omitempty"`
}

// MaxWaiters bounds the waiters of a Wait that are listed.
const MaxWaiters = 50

// Pair counts how often statements of one class blocked those of another. In a deadlock each class
// blocks the other: Blocking is then that of the one that continued, Blocked the victim's.
type Pair struct {
	Blocking            string  `json:"blocking,omitzero"` // class id; empty: unknown
	Blocked             string  `json:"blocked,omitzero"`
	BlockingFingerprint string  `json:"blocking_fingerprint,omitzero"`
	BlockedFingerprint  string  `json:"blocked_fingerprint,omitzero"`
	Deadlocks           int     `json:"deadlocks"`
	Waits               int     `json:"waits"`
	Seconds             float64 `json:"wait_seconds"` // of these waits
}

// Pairs returns the pairs of a deadlock: each other party with the victim. Without a known victim
// the pairs go by the order of their ids, so that the same deadlock counts alike.
func (d *Deadlock) Pairs() (all []Pair) {
	victim, ok := d.Victim()
	if !ok {
		if len(d.Parties) < 2 {
			return nil
		}
		victim = slices.MinFunc(d.Parties, func(a, b Party) int {
			return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Session, b.Session))
		})
	}
	left := false
	for _, p := range d.Parties {
		if !left && p.Session == victim.Session && p.Transaction == victim.Transaction {
			left = true
			continue
		}
		all = append(all, Pair{
			Blocking: p.Class, Blocked: victim.Class,
			BlockingFingerprint: p.Fingerprint, BlockedFingerprint: victim.Fingerprint, Deadlocks: 1,
		})
	}
	return Sum(all)
}

// Sum adds up pairs of the same classes, most first.
func Sum(pairs []Pair) []Pair {
	at := map[[2]string]int{}
	var out []Pair
	for _, p := range pairs {
		k := [2]string{p.Blocking, p.Blocked}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, p)
			continue
		}
		o := &out[i]
		o.Deadlocks, o.Waits, o.Seconds = o.Deadlocks+p.Deadlocks, o.Waits+p.Waits, o.Seconds+p.Seconds
		o.BlockingFingerprint = cmp.Or(o.BlockingFingerprint, p.BlockingFingerprint)
		o.BlockedFingerprint = cmp.Or(o.BlockedFingerprint, p.BlockedFingerprint)
	}
	slices.SortStableFunc(out, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Deadlocks, a.Deadlocks), cmp.Compare(b.Seconds, a.Seconds))
	})
	return out
}
