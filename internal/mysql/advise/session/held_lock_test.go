package session

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

// behind is a moment in which three sessions wait for session 7 with a statement.
func behind(kind state.WaitKind, object, held, sql string, holder state.Session, waited float64) state.State {
	s := state.State{Sessions: []state.Session{holder, working(20, lookup, 0.01)}}
	for id := uint64(10); id < 13; id++ {
		s.Sessions = append(s.Sessions, working(id, sql, waited))
		s.Waits = append(s.Waits, state.Wait{
			Kind: kind, Waiter: id, Blocker: known.Of[uint64](7), Object: object, Held: held, Seconds: known.Of(waited),
		})
	}
	return s
}

const nightly = "SELECT GET_LOCK('nightly', 60)"

func asleep7(s float64) state.Session { return sleeping(7, 20+s) }
func alters(s float64) state.Session  { return working(7, alteration, 20+s) }

// The kinds and modes are those that package sources gives; TestLocksOnServers there makes them on real servers.
func TestHeldLock(t *testing.T) {
	f := func(kind state.WaitKind, object, held, sql string, holder func(float64) state.Session, title, cause,
		end string,
	) {
		t.Helper()
		f := one(t, moments(shop(), 8, func(s float64) state.State {
			return behind(kind, object, held, sql, holder(s), 4+s)
		}), "held-lock")
		if !strings.Contains(f.Title, title) || !strings.Contains(f.Cause, cause) ||
			!strings.Contains(f.Suggestion, end) || len(f.Subject.Sessions) != 1 || f.Subject.Sessions[0] != 7 {
			t.Errorf("%s\n%s\n%s\n%+v", f.Title, f.Cause, f.Suggestion, f.Subject)
		}
		// Where waiting may be all that a session is for, nobody is to be killed.
		if user := kind == state.UserLock; strings.Contains(f.Suggestion, "KILL 7") == user ||
			(f.Severity == finding.Notice) != user || user && (f.Share != 0 || len(f.Subject.Tables) > 0) {
			t.Errorf("%s %v %s", f.Severity, f.Share, f.Suggestion)
		}
	}
	f(state.GlobalLock, "", "SHARED", change, asleep7, "3 of 4 active sessions wait for the global lock of session 7",
		"FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES")
	f(state.UserLock, "shop.nightly", "EXCLUSIVE", nightly, asleep7, "lock shop.nightly, which session 7",
		"RELEASE_LOCK", "GET_LOCK(name, seconds)")
	f(state.TableLock, "shop.stock", "SHARED_NO_READ_WRITE", change, asleep7, "the lock on shop.stock of session 7",
		"LOCK TABLES", "run UNLOCK TABLES")
	f(state.MetadataLock, "shop.stock", "SHARED_NO_WRITE", change, alters, "wait for shop.stock, which session 7",
		"change of the table keeps others", "ALGORITHM=INPLACE, LOCK=NONE")
}

func TestHeldLockSilent(t *testing.T) {
	f := func(what string, kind state.WaitKind, held, sql string, holder func(float64) state.Session, waited float64) {
		t.Helper()
		silent(t, what, moments(shop(), 8, func(s float64) state.State {
			return behind(kind, "shop.stock", held, sql, holder(s), waited)
		}))
	}
	f("waits of an instant", state.UserLock, "EXCLUSIVE", nightly, asleep7, 0.2)
	// FLUSH TABLES WITH READ LOCK waits for a change that runs: that one is not to blame.
	f("a lock that waits itself", state.GlobalLock, "INTENTION_EXCLUSIVE", change, alters, 9)
	f("a read is in the way", state.MetadataLock, "SHARED_READ", change, asleep7, 9)
}
