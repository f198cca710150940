package collector

import (
	"context"
	"errors"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// Replay is a Scraper that gives recorded readings, the first again after the last, as if they were read now. Many of
// them may share one recording.
type Replay struct {
	readings []reading.Reading
	from     int
}

// NewReplay returns a Replay of readings, beginning with the one of that number. It does not change them.
func NewReplay(readings []reading.Reading, from int) (*Replay, error) {
	if len(readings) == 0 {
		return nil, errors.New("replay readings: there are none")
	}
	return &Replay{readings, max(from, 0) % len(readings)}, nil
}

// Run gives a reading at each whole multiple of every until ctx ends. A round that is missed is left out.
func (r *Replay) Run(ctx context.Context, every time.Duration, sink func(reading.Reading)) error {
	if every <= 0 {
		return errors.New("replay readings: the interval is not positive")
	}
	var buf []metric.Sample
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := r.from; ; i = (i + 1) % len(r.readings) {
		now := time.Now()
		at := now.Truncate(every).Add(every)
		timer.Reset(at.Sub(now.Round(0)))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		x := r.readings[i]
		buf = append(buf[:0], x.Samples...)
		ms := at.UnixMilli()
		for j := range buf {
			buf[j].At = ms
		}
		x.At, x.Samples = at, buf
		if x.State != nil {
			s := *x.State
			s.At = at
			x.State = &s
		}
		x.Events = nil // they happened once
		sink(x)
	}
}
