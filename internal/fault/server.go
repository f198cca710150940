package fault

import (
	"context"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/progress"
)

// Server is a private server of a family, as faults are planted on it and cured.
type Server interface {
	// Plant makes a fault on a fresh server, with the names of a seed. It fails where tables of these names exist. When
	// it fails it leaves nothing behind, or says what is left.
	Plant(ctx context.Context, f Fault, seed uint64, sink progress.Sink) error
	// Way says how actions of a kind are undone and redone while the load runs.
	Way(k finding.ActionKind) Way
	// Turn undoes an action that was carried out, or with on carries it out again. It is called for kinds with a Way,
	// and only when the action is in the other state.
	Turn(ctx context.Context, a finding.Action, on bool) error
}

// Way is how an action is undone and redone within seconds, as the windows of a proof in turn need it.
type Way string

const (
	Once       Way = ""        // not at all
	Hiding     Way = "hide"    // an index is hidden from the optimizer and shown
	Rebuilding Way = "rebuild" // an index is dropped and built online
	Setting    Way = "set"     // a setting is toggled; some apply to new sessions only
)

// Source is a Server that can have a replica.
type Source interface {
	// Replicate has another server, which is empty, replicate from this one, which listens at a port of this machine
	// and is empty, too. It returns when the replica has everything.
	Replicate(ctx context.Context, replica family.Server, port int) error
	// CaughtUp returns when the replica has everything that its source has now.
	CaughtUp(ctx context.Context, replica family.Server) error
}
