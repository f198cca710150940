package sources

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
)

// redact takes the literals of statements out of a reading before anything else sees it. The other texts of a reading
// hold none: names, the server's own words, and errors that answer Dyno's own statements.
func redact(r *reading.Reading) {
	if r.State != nil {
		Redact(r.State)
	}
}

// Redact takes out of a state what may hold values of users: literals of statements and numbers of advisory locks.
func Redact(x *state.State) {
	x.Sessions, x.Waits = slices.Clone(x.Sessions), slices.Clone(x.Waits) // the sources read theirs again
	for i := range x.Sessions {
		s := &x.Sessions[i]
		s.SQL, s.Last = pgtext.Redacted(s.SQL), pgtext.Redacted(s.Last)
	}
	for i := range x.Waits {
		if x.Waits[i].Kind == state.UserLock && x.Waits[i].Object != "" {
			x.Waits[i].Object = "?"
		}
	}
}
