package series

import "time"

// Options say how much a store keeps. The zero value of a field means its default.
type Options struct {
	// Retention is how long every second is kept, counted back from the newest sample; default Retention.
	Retention time.Duration
	// MinuteRetention is how long the down-sampled level is kept; default MinuteRetention. It is never shorter than Retention.
	MinuteRetention time.Duration
	// MaxBytes bounds the directory; 0 is no bound. The oldest seconds go first, and four fifths are theirs. It is looked at once a
	// minute and whole blocks are dropped, so that it may be passed for a while by what half an hour writes.
	MaxBytes int64
	// Reserve is the space on the disk, in bytes, that the store leaves to others: with less it refuses to write (ErrFull) until there
	// is a quarter more than that; default 64 MiB.
	Reserve int64
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
	o.MinuteRetention = max(o.MinuteRetention, o.Retention)
	if o.Reserve <= 0 {
		o.Reserve = 64 << 20
	}
	return o
}
