// Package collector schedules the scrapes of many targets and passes each result to the sinks that
// store or show it. Package app starts it. It reads no server itself; the Scrapers that it gets do.
package collector

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/reading"
)

// Scraper reads the metrics of one target at whole multiples of a period until ctx ends. It survives a server that goes
// away and returns an error only when it cannot go on at all. Package scrape implements it.
type Scraper interface {
	Run(ctx context.Context, every time.Duration, sink func(reading.Reading)) error
}

// Sink takes a reading, which bears the name of its target. Sinks of one target are called one after the other, those
// of different targets at the same time.
type Sink func(reading.Reading)

// Run scrapes every target each period until ctx ends; its end is no error. The first target that cannot go on ends
// all.
func Run(ctx context.Context, every time.Duration, targets map[string]Scraper, sinks ...Sink) error {
	g, ctx := errgroup.WithContext(ctx)
	for name, s := range targets {
		g.Go(func() error {
			err := s.Run(ctx, every, func(r reading.Reading) {
				r.Target = name
				for _, sink := range sinks {
					sink(r)
				}
			})
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("watch %s: %w", name, err)
			}
			return nil
		})
	}
	return g.Wait()
}
