// Package reading holds the result of one scrape of one target: samples, sources, sessions and
// events.
package reading

import (
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Reading is one round of all sources whose turn it was.
type Reading struct {
	Target  string // name as the user knows it; empty until somebody who knows it has filled it in
	At      time.Time
	Samples []metric.Sample // all with the time At; valid until the sink returns
	// Parts say which samples the sources gave that were read in this round, in the order of Samples; those behind the
	// last part are of the round itself. The store needs it to tell a row that is gone from one whose turn it was not.
	Parts   []Part
	Sources []source.Source // every source, those whose turn it was not with their last state
	// State is what the server was doing at that moment; nil when no source of it was read in this round.
	State *state.State
	// Events are what the sources noticed since the round before: a restart, a changed variable, a gap.
	Events []event.Event
	// Deadlocks are those found since the round before, an earlier one again when more of it became known.
	Deadlocks lock.Seen
}

// Part is what one source gave in a round: the next Samples of the reading. A source that was read and gave nothing,
// because it failed or has no row, is a part of what it tells of its own cost at most; one whose turn it was not is no
// part.
type Part struct {
	Source  source.Name
	Samples int
}
