package deadlock

import (
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/lock"
)

// Kind is why two transactions came to wait for each other.
type Kind string

// The kinds. What ends one kind keeps another as it is, or makes it worse.
const (
	// Unknown: the locks of the report do not show it.
	Unknown Kind = ""
	// Gap: each of two sessions has locked a gap of an index, as a locking read or a change of a row that is not there
	// does, and inserts into the gap of the other one. Locks on gaps do not exclude each other, only inserts.
	Gap Kind = "gap"
	// Upgrade: two sessions share the lock on one record and both want it for themselves.
	Upgrade Kind = "upgrade"
	// Indexes: both change the same rows of a table, one by way of one index and one by way of another.
	Indexes Kind = "indexes"
	// Order: each holds a record or table that the other wants.
	Order Kind = "order"
)

// KindOf tells the kind of a deadlock from the locks that its sessions held and waited for, by their modes (MySQL
// manual, "InnoDB Locking").
func KindOf(d lock.Deadlock) Kind {
	var wanted []lock.Lock
	gaps, upgrades := 0, 0
	for i, p := range d.Parties {
		for _, w := range p.Waits {
			for j, q := range d.Parties {
				at := slices.IndexFunc(q.Holds, func(h lock.Lock) bool { return same(h, w) && excludes(h, w) })
				if i == j || at < 0 {
					continue
				}
				wanted = append(wanted, w)
				if h := q.Holds[at]; inserts(w) && !inserts(h) {
					gaps++
				} else if shared(h) && slices.ContainsFunc(p.Holds, func(own lock.Lock) bool {
					return shared(own) && same(own, w)
				}) {
					upgrades++
				}
				break
			}
		}
	}
	switch n := len(wanted); {
	case n == 0:
		return Unknown
	case gaps == n:
		return Gap
	case upgrades > 0:
		return Upgrade
	case n == 2 && wanted[0].Object == wanted[1].Object && wanted[0].Index != wanted[1].Index:
		return Indexes
	}
	return Order
}

// same reports whether two locks are of one index or table. Their records need not be told: of a lock on many the first
// is, and none where values are withheld.
func same(a, b lock.Lock) bool {
	return a.Kind == b.Kind && a.Object == b.Object && a.Index == b.Index
}

// excludes reports whether a lock that is held makes another one wait.
func excludes(held, wanted lock.Lock) bool { return !shared(held) || !shared(wanted) }

func inserts(l lock.Lock) bool { return strings.Contains(l.Mode, "insert intention") }
func shared(l lock.Lock) bool  { return strings.HasPrefix(l.Mode, "S") || l.Mode == "IS" }
