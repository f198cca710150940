package digestsource

import (
	"context"
	"errors"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// states tells how each source does, by name; State is OK while it works.
type states map[source.Name]*source.Source

func (x states) set(name source.Name, to source.State, reason, fix string) {
	s := x[name]
	s.State, s.Reason, s.Fix = to, reason, fix
}

// fail records an error of a source.
func (x states) fail(name source.Name, err error) {
	switch {
	case target.KindOf(err) == endpoint.Denied:
		x.set(name, source.Denied, "a privilege is missing", target.HintOf(err))
	case errors.Is(err, context.DeadlineExceeded):
		x.set(name, source.Slow, state.Clip(err.Error(), 4096), "")
	default:
		x.set(name, source.Failed, state.Clip(err.Error(), 4096), target.HintOf(err))
	}
}

// usable reports whether a source was found at all; one that failed once is tried again.
func (x states) usable(name source.Name) bool {
	s := x[name].State
	return s == source.OK || s == source.Failed || s == source.Slow
}

// ok counts a successful reading; Took holds the sum until End.
func (x states) ok(name source.Name, took time.Duration) {
	s := x[name]
	if s.State != source.OK {
		x.set(name, source.OK, "", "")
	}
	s.Reads++
	s.Took += float64(took) / 1e6
}
