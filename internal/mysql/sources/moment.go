package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

// moment is what the sources of a server's sessions have seen in a round, for those that are read after them: one
// statement tells who is there, and who holds a lock is asked for only when somebody waits. It is used by light sources
// alone, which are read one after the other.
type moment struct {
	sessionsAt int64 // the round they are of, Unix milliseconds
	sessions   []state.Session
	trxAt      int64
	trx        []state.Transaction
	denied     error // why the sessions may not be seen
	// deadlocks is how many the server has counted, unknown where it does not or could not be asked. The other two are
	// the connection on which it said so and when, Unix milliseconds.
	deadlocks    known.Value[uint64]
	deadlocksGen int
	deadlocksAt  int64
}

// waitWords tell by the server's own words for what a session does that it waits for a lock other than InnoDB's. "Table
// lock" is none of them: every statement of MariaDB passes that state, those that wait then say so with another.
var waitWords = []struct {
	word string
	kind state.WaitKind
}{
	{"metadata lock", state.MetadataLock},
	{"global read lock", state.GlobalLock},
	{"commit lock", state.GlobalLock},
	{"backup lock", state.GlobalLock},
	{"table flush", state.GlobalLock},
	{"table level lock", state.TableLock},
	{"waiting for table", state.TableLock},
	{"user lock", state.UserLock},
}

// waitsFor returns the kind of lock that a session waits for by its phase.
func waitsFor(phase string) (state.WaitKind, bool) {
	p := strings.ToLower(phase)
	if !strings.Contains(p, "lock") && !strings.Contains(p, "waiting for table") {
		return "", false
	}
	for _, w := range waitWords {
		if strings.Contains(p, w.word) && (strings.HasPrefix(p, "waiting for") || w.kind == state.UserLock) {
			return w.kind, true
		}
	}
	return "", false
}
