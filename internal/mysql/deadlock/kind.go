package deadlock

import (
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/state"
)

// Kind is why two transactions came to wait for each other.
type Kind string

// The kinds. What ends one kind keeps another as it is, or makes it worse.
const (
	// Unknown: the locks of the report do not show it.
	Unknown Kind = ""
	// Gap: each session has locked a gap of an index, as a locking read or a change does that finds no row, and inserts
	// into the gap of the other one. Locks on gaps do not exclude each other, only inserts.
	Gap Kind = "gap"
	// Duplicate is Gap where the locks are shared: those of inserts that met a duplicate.
	Duplicate Kind = "duplicate"
	// Upgrade: the sessions share the lock on one record and each wants it for itself.
	Upgrade Kind = "upgrade"
	// Indexes: the sessions lock rows of one table, and meet in two indexes of it.
	Indexes Kind = "indexes"
	// Order: each holds a record or table that the other wants.
	Order Kind = "order"
)

// Kind tells the kind from the locks that the sessions held and waited for, by their modes and records (MySQL manual,
// "InnoDB Locking"). It is Unknown unless the wait of every session is explained; texts of MySQL before 8.0 leave out
// what the first session held, which two kinds do not need.
func (r *Report) Kind() Kind {
	var edges []edge
	waits, inserting := 0, 0
	for _, p := range r.parties {
		i := slices.IndexFunc(r.locks, func(l heldLock) bool { return l.trx == p.Transaction && l.waiting })
		if i < 0 {
			return Unknown
		}
		w := r.locks[i]
		if waits++; inserts(w) {
			inserting++
		}
		at := slices.IndexFunc(r.locks, func(h heldLock) bool {
			return h.trx != w.trx && !h.waiting && meets(h, w) && (!shared(h) || !shared(w))
		})
		if at >= 0 {
			edges = append(edges, edge{held: r.locks[at], wanted: w})
		}
	}
	all := func(yes func(edge) bool) bool {
		return !slices.ContainsFunc(edges, func(e edge) bool { return !yes(e) })
	}
	gap := func(e edge) bool { return gaps(e.held) }
	switch {
	case waits < 2 || len(edges) == 0:
		return Unknown
	case inserting == waits && all(gap) && all(func(e edge) bool { return shared(e.held) }):
		return Duplicate
	case inserting == waits && all(gap):
		return Gap
	case inserting == 0 && all(func(e edge) bool { return shared(e.held) && r.upgrades(e) }):
		return Upgrade
	case len(edges) < waits || inserting > 0:
		return Unknown
	case waits == 2 && edges[0].wanted.Object == edges[1].wanted.Object &&
		edges[0].wanted.Index != edges[1].wanted.Index:
		return Indexes
	}
	return Order
}

// edge is a wait with the lock that is in its way.
type edge struct{ held, wanted heldLock }

// upgrades reports whether the session in the way of a wait wants for itself what it shares: the record of the wait.
func (r *Report) upgrades(e edge) bool {
	return len(e.wanted.heaps) > 0 && slices.ContainsFunc(r.locks, func(w heldLock) bool {
		return w.trx == e.held.trx && w.waiting && !shared(w) && meets(w, e.wanted)
	})
}

// meets reports whether two locks are of one record, or one table. A lock on many records lists them; where records are
// left out, as in what is kept without values, one index is as much as can be told.
func meets(h, w heldLock) bool {
	if h.Kind != w.Kind || h.Object != w.Object || h.Index != w.Index {
		return false
	}
	if len(w.heaps) == 0 || len(h.heaps) == 0 {
		return true
	}
	return h.where == w.where && slices.Contains(h.heaps, w.heaps[0])
}

// gaps reports whether a lock is on the gap before a record too: "X", "S locks gap before rec".
func gaps(l heldLock) bool {
	return l.Kind == string(state.RowLock) && !inserts(l) && !strings.Contains(l.Mode, "rec but not gap")
}

func inserts(l heldLock) bool { return strings.Contains(l.Mode, "insert intention") }
func shared(l heldLock) bool  { return strings.HasPrefix(l.Mode, "S") || l.Mode == "IS" }
