package scrape

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Source is one place that metrics come from. Scrape reads it once and emits samples with the time at, Unix
// milliseconds. It returns a *Problem when it can say what is wrong; samples emitted before are kept only when that
// problem is Partial. The deadline of ctx is the source's own. A source is used by one goroutine at a time.
type Source interface {
	Name() source.Name
	Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error
}

// stater is a source that also knows a part of what the server is doing. Fill is called after a Scrape that gave
// something, in the same round, and adds that part; nothing of it may be changed afterwards.
type stater interface{ Fill(*state.State) }

// beginner is a source whose answer takes its time. Begin is called at the start of a round in which it is read, so
// that the answer is on its way while the server is asked.
type beginner interface{ Begin() }

// pacer is a source whose way of reading has a cadence of its own. Every is asked for in each round.
type pacer interface{ Every() time.Duration }

// remarker is a source that has something to say of itself when it is OK; "" for nothing.
type remarker interface{ Remark() string }

// eventer is a source that notices events. Events returns those since the last call; it is called after each Scrape.
type eventer interface{ Events() []event.Event }

// deadlocker is a source that finds deadlocks. Deadlocks returns those since the last call; it is called after each
// Scrape.
type deadlocker interface{ Deadlocks() lock.Seen }

// Cost says what reading a source takes from the server.
type Cost string

// The classes of cost.
const (
	Free  Cost = "free"  // nothing is asked of the server: files of the machine
	Light Cost = "light" // counters that are there anyway, a millisecond or two
	Heavy Cost = "heavy" // grows with sessions, tables or statements, or holds a lock that clients need
)

// Traits say how a source is read.
type Traits struct {
	Cost Cost
	// time between two readings, 0 for each round; it is never read more often, and less often when it is over its
	// Budget
	Every time.Duration
	// Budget is the time of the server's that the source may take, in seconds a second, averaged over its readings; 0
	// is 0.01.
	Budget float64
	// Totals says that this source tells whether the server is there, and what it has counted in all, Dyno's own part
	// of which is to be of the same moment. One source of a family does.
	Totals bool
	Asked  bool   // read only when named in Options.Sources or Options.Also
	Grant  string // the privilege it needs as GRANT words it, "" for none: "PROCESS ON *.*"
	About  string // what it tells, a few words
}

// Problem is why a source gives nothing, or not everything.
type Problem struct {
	State   source.State
	Reason  string
	Fix     string // the GRANT or setting that would fix it
	Partial bool   // the samples that were emitted are good, something else is missing
	Err     error
}

// Error returns the reason.
func (p *Problem) Error() string { return p.Reason }

// Unwrap returns the error that the problem was made from, if there is one.
func (p *Problem) Unwrap() error { return p.Err }

// describe turns what a source returned into the words of a snapshot.
func describe(err error, errs Errors) (state source.State, reason, fix string) {
	var p *Problem
	switch {
	case err == nil:
		return source.OK, "", ""
	case errors.As(err, &p):
		return p.State, p.Reason, p.Fix
	case errors.Is(err, context.DeadlineExceeded):
		return source.Slow, ReasonOf(err), ""
	case errors.Is(err, os.ErrPermission):
		return source.Denied, ReasonOf(err), ""
	}
	return source.Failed, ReasonOf(err), errs.Hint(err)
}

// ReasonOf returns the text of an error, of which every second keeps one.
func ReasonOf(err error) string { return state.Clip(err.Error(), 4096) }

// Info is what is known of a source before it is read.
type Info struct {
	Name source.Name
	Traits
}
