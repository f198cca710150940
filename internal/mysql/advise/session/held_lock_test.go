package session

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

// behind is a moment in which three sessions wait for session 7 with a statement.
func behind(kind state.WaitKind, object, sql string, holder state.Session, waited float64) state.State {
	s := state.State{Sessions: []state.Session{holder, working(20, lookup, 0.01)}}
	for id := uint64(10); id < 13; id++ {
		s.Sessions = append(s.Sessions, working(id, sql, waited))
		s.Waits = append(s.Waits, state.Wait{
			Kind: kind, Waiter: id, Blocker: known.Of[uint64](7), Object: object, Held: "SHARED_NO_READ_WRITE",
			Seconds: known.Of(waited),
		})
	}
	return s
}

func TestHeldLock(t *testing.T) {
	f := func(kind state.WaitKind, object, sql string, holder func(s float64) state.Session, title, cause, end string) {
		t.Helper()
		f := one(t, moments(shop(), 8, func(s float64) state.State {
			return behind(kind, object, sql, holder(s), 4+s)
		}), "held-lock")
		if !strings.Contains(f.Title, title) || !strings.Contains(f.Cause, cause) ||
			!strings.Contains(f.Suggestion, end) ||
			!strings.Contains(f.Suggestion, "KILL 7") || len(f.Subject.Sessions) != 1 || f.Subject.Sessions[0] != 7 {
			t.Errorf("%s\n%s\n%s\n%+v", f.Title, f.Cause, f.Suggestion, f.Subject)
		}
	}
	asleep := func(s float64) state.Session { return sleeping(7, 20+s) }
	f(state.GlobalLock, "", change, asleep, "3 of 4 active sessions wait for the global lock of session 7",
		"FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES")
	f(state.UserLock, "nightly", "SELECT GET_LOCK('nightly', 60)", asleep,
		"the application's lock nightly, which session 7", "RELEASE_LOCK", "GET_LOCK(name, seconds)")
	f(state.MetadataLock, "shop.stock", change, asleep, "the lock on shop.stock of session 7", "LOCK TABLES",
		"run UNLOCK TABLES")
	f(state.MetadataLock, "shop.stock", change, func(s float64) state.Session { return working(7, alteration, 20+s) },
		"the lock on shop.stock of session 7", "change of the table keeps all others", "ALGORITHM=INPLACE, LOCK=NONE")
}

func TestHeldLockSilent(t *testing.T) {
	for what, waited := range map[string]float64{"waits of an instant": 0.2, "nobody waits": 0} {
		silent(t, what, moments(shop(), 8, func(s float64) state.State {
			x := behind(state.UserLock, "nightly", "SELECT GET_LOCK('nightly', 60)", sleeping(7, s), waited)
			if waited == 0 {
				x.Waits, x.Sessions = nil, x.Sessions[:2]
			}
			return x
		}))
	}
}
