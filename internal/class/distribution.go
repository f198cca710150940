package class

import (
	"cmp"
	"time"

	"github.com/dyno-perf/dyno/internal/sketch"
)

// MostDistributions is how many classes get a distribution in a minute, those with the most time. Where it is costly
// fewer do.
const MostDistributions = 30

// Distributions are how the times of statements were distributed over a stretch of time: those of the whole server and
// those of its heaviest classes. The zero value says that nothing was read.
type Distributions struct {
	From, To time.Time
	// Origin is SlowLog where the time of every statement was counted, and PerformanceSchema where the server's
	// histograms were: their buckets are 4.7 % wide.
	Origin Origin
	// Server counts all statements, nanoseconds; nil where that is unknown. Own of them are Dyno's.
	Server  *sketch.Bins
	Own     uint64
	Classes []Distribution
	// Reason says why there is none, with what would give one; empty when there is one.
	Reason string
}

// Distribution is how the times of the statements of one class with one default database were distributed.
type Distribution struct {
	ID, Schema string
	Times      *sketch.Bins // nanoseconds
}

// Mixed returns the origin of two distributions taken together: that of the less exact one. An empty one counts for
// nothing.
func Mixed(a, b Origin) Origin {
	if a != b && a != "" && b != "" {
		return PerformanceSchema // of the two that a distribution can have
	}
	return cmp.Or(a, b)
}

// Read reports whether anything is said of a stretch of time.
func (d *Distributions) Read() bool { return d.Server != nil || len(d.Classes) > 0 || d.Reason != "" }
