package series

import (
	"cmp"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/store/reserve"
)

// Options say how much a store keeps. The zero value of a field means its default.
type Options struct {
	// Retention is how long every second is kept, counted back from the newest sample or from now, whichever is
	// earlier; default Retention. A clock that jumps ahead expires nothing at once, see clock.Horizon.
	Retention time.Duration
	// MinuteRetention is how long the down-sampled level is kept; default MinuteRetention. It is never shorter than
	// Retention.
	MinuteRetention time.Duration
	// MaxBytes bounds the directory; 0 is no bound. The oldest seconds go first, and four fifths are theirs. It is
	// looked at once a minute and whole blocks are dropped, so that it may be passed for a while by what half an hour
	// writes.
	MaxBytes int64
	// SecondBytes and MinuteBytes bound the levels in place of their parts of MaxBytes; 0 is that part.
	SecondBytes, MinuteBytes int64
	// Reserve is the space on the disk that the store leaves to others: with less it refuses to write (ErrFull) until
	// there is somewhat more. What is stored stays.
	Reserve reserve.Reserve

	now   func() time.Time // clock.Now but in tests
	eager bool             // in tests: what is too old goes at once
}

const (
	// Retention is how long samples of every second are kept by default.
	Retention = 15 * 24 * time.Hour
	// MinuteRetention is how long minutes are kept by default.
	MinuteRetention = 400 * 24 * time.Hour
)

func (o Options) filled() Options {
	if o.Retention <= 0 {
		o.Retention = Retention
	}
	if o.MinuteRetention <= 0 {
		o.MinuteRetention = MinuteRetention
	}
	if o.now == nil {
		o.now = clock.Now
	}
	o.MinuteRetention = max(o.MinuteRetention, o.Retention)
	o.SecondBytes = cmp.Or(o.SecondBytes, o.MaxBytes/5*4)
	o.MinuteBytes = cmp.Or(o.MinuteBytes, o.MaxBytes/5)
	return o
}
