//go:build bench

package bench

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// scraper is a scrape.Scraper or a replay.
type scraper interface {
	Run(ctx context.Context, every time.Duration, sink func(reading.Reading)) error
}

// scrapeAll scrapes every target each period until ctx ends; its end is no error.
func scrapeAll(ctx context.Context, every time.Duration, targets map[string]scraper, sink func(reading.Reading)) error {
	g, ctx := errgroup.WithContext(ctx)
	for name, s := range targets {
		g.Go(func() error {
			return s.Run(ctx, every, func(r reading.Reading) {
				r.Target = name
				sink(r)
			})
		})
	}
	return g.Wait()
}

// replay gives recorded readings, the first again after the last, as if they were read now. Many of them may share one
// recording, which they do not change.
type replay struct {
	readings []reading.Reading
	from     int
}

// Run gives a reading at each whole multiple of every until ctx ends. A round that is missed is left out.
func (r *replay) Run(ctx context.Context, every time.Duration, sink func(reading.Reading)) error {
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
