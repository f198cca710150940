package scrape

import "dyno/internal/state"

// ticket is a metadata lock that a session holds or wants.
type ticket struct {
	space   string // type of object: "TABLE", "GLOBAL", "USER LEVEL LOCK", …
	schema  string
	name    string
	mode    string
	granted bool
	session uint64
}

// incompatible tells which lock keeps which other one out, by the tables in "Metadata Locking" of the servers' source manuals
// (class MDL_context): for each wanted mode those that may not be held, and those that may not be waited for before it.
type incompatible struct{ held, waiting map[string]map[string]bool }

func matrix(held, waiting map[string]string) incompatible {
	read := func(m map[string]string) map[string]map[string]bool {
		out := map[string]map[string]bool{}
		for k, v := range m {
			out[k] = set(v)
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
		"SHARED_NO_WRITE":       "SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_UPGRADABLE SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"SHARED_NO_READ_WRITE":  "SHARED_READ SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_UPGRADABLE SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
		"EXCLUSIVE":             "SHARED SHARED_HIGH_PRIO SHARED_READ SHARED_WRITE SHARED_WRITE_LOW_PRIO SHARED_UPGRADABLE SHARED_READ_ONLY SHARED_NO_WRITE SHARED_NO_READ_WRITE EXCLUSIVE",
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

// inTheWay reports whether the ticket other keeps want waiting.
func inTheWay(want, other ticket) bool {
	if want.session == other.session || want.space != other.space || want.schema != other.schema || want.name != other.name {
		return false
	}
	m := locksOf(want.space)
	if other.granted {
		return m.held[want.mode][other.mode]
	}
	return m.waiting[want.mode][other.mode]
}

// ticketWaits returns who waits for whom by all the tickets of the objects that somebody waits for.
func ticketWaits(tickets []ticket) (waits []state.Wait) {
	for _, w := range tickets {
		if w.granted || w.session == 0 {
			continue
		}
		x := state.Wait{Kind: kindOf(w), Waiter: w.session, Object: objectOf(w), Mode: w.mode}
		n := len(waits)
		for _, o := range tickets {
			if !inTheWay(w, o) || len(waits) >= waitLimit {
				continue
			}
			y := x
			y.Blocker, y.Held = known64(o.session), o.mode
			if o.session == 0 {
				y.Why = "a thread of the server's own"
			}
			if o.granted && x.Kind == state.MetadataLock && (o.mode == "SHARED_NO_READ_WRITE" || o.mode == "SHARED_READ_ONLY") {
				y.Kind = state.TableLock // LOCK TABLES
			}
			if !o.granted {
				y.Held += " (waiting)"
			}
			waits = append(waits, y)
		}
		if len(waits) == n && len(waits) < waitLimit {
			x.Why = "no lock that the server shows is in its way: it may have been given at this moment"
			waits = append(waits, x)
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
