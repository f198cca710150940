package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// crew is what all sessions of one run share.
type crew struct {
	config Config
	plan   *workload.Plan
	server Sessions
	naming naming
	timing bool  // statements are timed, too
	queue  queue // nil: every session has a terminal of its own and starts its operations one after the other

	start   time.Time       // of the run; moments count from it
	hard    context.Context // its end breaks the connections
	stop    chan struct{}   // closed: no further operation begins
	stopped atomic.Bool     // as stop, cheaper to ask
	left    atomic.Int64    // operations that may still begin, when Config.Events limits them
	fail    func(error)     // ends the run with an error
	up      atomic.Int64    // sessions that are connected
	busy    atomic.Int64    // sessions with an operation under way, where there is a queue
}

// party is one of the two ways to drive the sessions of a crew.
type party interface {
	// connect opens all sessions, or none.
	connect(ctx context.Context) error
	// close ends the connections of a run that has not begun.
	close()
	// run carries out operations until the run ends.
	run()
	// wake tells that stop or hard has come to its end.
	wake()
	// busyIDs returns the server's ids of connections that have an operation under way.
	busyIDs() []uint64
	recorders() []*recorder
	// flows returns those of all sessions, for when the run has ended.
	flows() []*flow
	// loops returns the CPU time of each event loop's thread so far; none for the driver.
	loops() []time.Duration
}

// now returns the time since the start of the run.
func (cr *crew) now() time.Duration { return time.Since(cr.start) }

// may reports whether another operation may begin.
func (cr *crew) may() bool {
	if cr.stopped.Load() {
		return false
	}
	return cr.config.Events == 0 || cr.left.Add(-1) >= 0
}

// noLimit is more operations than a run can have.
const noLimit = 1 << 62

// measured says that the warm-up is over.
func (cr *crew) measured() { cr.left.Store(int64(min(cr.config.Events, noLimit))) }

// newTerminal returns terminal i. Terminals that belong to a session have its number.
func (cr *crew) newTerminal(i int) *terminal {
	return &terminal{gen: cr.plan.Generator(cr.config.Seed, i)}
}

// newQueue returns the queue that the configuration asks for.
func (cr *crew) newQueue() queue {
	switch {
	case !cr.config.Rate.IsZero():
		return newArrivals(&cr.config)
	case cr.config.Terminals > cr.config.Threads:
		all := make([]*terminal, cr.config.Terminals)
		for i := range all {
			all[i] = cr.newTerminal(i)
		}
		return newPool(all, cr.may)
	}
	return nil
}

// dialers bounds how many sessions log in at the same time.
const dialers = 16
