package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/state"
)

// ticket is a metadata lock that a session holds or wants.
type ticket struct {
	space   string // type of object: "TABLE", "GLOBAL", "USER LEVEL LOCK", …
	schema  string
	name    string
	mode    string
	granted bool
	session uint64
}

// incompatible tells which lock keeps which other one out, by the tables in "Metadata Locking" of the servers' source
// manuals (class MDL_context): for each wanted mode those that may not be held, and those that may not be waited for
// before it.
type incompatible struct{ held, waiting map[string][]string }

func matrix(held, waiting map[string]string) incompatible {
	read := func(m map[string]string) map[string][]string {
		out := map[string][]string{}
		for k, v := range m {
			out[k] = strings.Fields(v)
		}
		return out
	}
	return incompatible{read(held), read(waiting)}
}

var (
	// Locks on one object.
	objectLocks = matrix(map[string]string{
		"SHARED":                "EXCLUSIVE",
		"SHARED_HIGH_PRIO":      "EXCLUSIVE",
		"SHARED_READ":           "SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_WRITE":          "SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_WRITE_LOW_PRIO": "SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_UPGRADABLE":     "SHARED_UPGRADABLE SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_READ_ONLY":      "SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_NO_WRITE": "SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_UPGRADABLE SHARED_NO_WRITE " +
			"SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_NO_READ_WRITE": "SHARED_READ SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_UPGRADABLE SHARED_READ_ONLY " +
			"SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"EXCLUSIVE": "SHARED SHARED_HIGH_PRIO SHARED_READ SHARED_WRITE SHARED_WRITE_LOW_PRIO " +
			"SHARED_UPGRADABLE SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
	}, map[string]string{
		"SHARED":                "EXCLUSIVE",
		"SHARED_READ":           "SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_WRITE":          "SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_WRITE_LOW_PRIO": "SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_UPGRADABLE":     "EXCLUSIVE",
		"SHARED_READ_ONLY":      "SHARED_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_NO_WRITE":       "EXCLUSIVE",
		"SHARED_NO_READ_WRITE":  "EXCLUSIVE",
	})
	// Locks on everything: GLOBAL, COMMIT, SCHEMA, TABLESPACE, BACKUP LOCK.
	scopedLocks = matrix(map[string]string{
		"INTENTION_EXCLUSIVE": "SHARED EXCLUSIVE",
		"SHARED":              "INTENTION_EXCLUSIVE EXCLUSIVE",
		"EXCLUSIVE":           "INTENTION_EXCLUSIVE SHARED EXCLUSIVE",
	}, map[string]string{
		"INTENTION_EXCLUSIVE": "SHARED EXCLUSIVE",
		"SHARED":              "EXCLUSIVE",
	})
)

func locksOf(space string) incompatible {
	switch space {
	case "GLOBAL", "COMMIT", "SCHEMA", "TABLESPACE", "BACKUP LOCK", "BACKUP TABLES":
		return scopedLocks
	}
	return objectLocks
}

// spot is what tickets have in common that keep the same ones out.
type spot struct {
	space, schema, name, mode string
	granted                   bool
}

// queues are sessions by the spots of their tickets: whoever waits looks at those alone that are in the way.
type queues map[spot][]uint64

func (q queues) add(t ticket) {
	p := spot{t.space, t.schema, t.name, t.mode, t.granted}
	q[p] = append(q[p], t.session)
}

// behind appends the waits of want for those who are in its way. From waitLimit on a session gets no more than one;
// those from the given index on are its own.
func (q queues) behind(want ticket, waits []state.Wait, from int) []state.Wait {
	m := locksOf(want.space)
	for _, granted := range []bool{true, false} {
		modes := m.waiting[want.mode]
		if granted {
			modes = m.held[want.mode]
		}
		for _, mode := range modes {
			x := state.Wait{
				Kind: kindOf(want), Waiter: want.session, Object: objectOf(want),
				Mode: want.mode, Held: mode,
			}
			if granted && x.Kind == state.MetadataLock && (mode == "SHARED_NO_READ_WRITE" ||
				mode == "SHARED_READ_ONLY") {
				x.Kind = state.TableLock // LOCK TABLES
			}
			if !granted {
				x.Held += " (waiting)"
			}
			for _, other := range q[spot{want.space, want.schema, want.name, mode, granted}] {
				if other == want.session {
					continue
				}
				if len(waits) >= waitLimit && len(waits) > from {
					return waits
				}
				x.Blocker, x.Why = known64(other), ""
				if other == 0 {
					x.Why = "a thread of the server's own"
				}
				waits = append(waits, x)
			}
		}
	}
	return waits
}

// ticketWaits returns who waits for whom by all the tickets of the objects that somebody waits for: everything up to
// waitLimit, then one wait for each ticket.
func ticketWaits(tickets []ticket) (waits []state.Wait) {
	q := queues{}
	for _, t := range tickets {
		q.add(t)
	}
	for _, w := range tickets {
		if w.granted || w.session == 0 {
			continue
		}
		n := len(waits)
		if waits = q.behind(w, waits, n); len(waits) == n {
			waits = append(waits, state.Wait{
				Kind: kindOf(w), Waiter: w.session, Object: objectOf(w), Mode: w.mode,
				Why: "no lock that the server shows is in its way: it may have been given at this moment",
			})
		}
	}
	return waits
}

func kindOf(t ticket) state.WaitKind {
	switch t.space {
	case "GLOBAL", "COMMIT", "BACKUP LOCK", "BACKUP TABLES":
		return state.GlobalLock
	case "USER LEVEL LOCK":
		return state.UserLock
	}
	return state.MetadataLock
}

func objectOf(t ticket) string {
	switch {
	case t.schema != "" && t.name != "":
		return t.schema + "." + t.name
	case t.schema != "" || t.name != "":
		return t.schema + t.name
	}
	return ""
}
