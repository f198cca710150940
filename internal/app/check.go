package app

import (
	"context"
	"time"

	"dyno/internal/digestsource"
	"dyno/internal/scrape"
	"dyno/internal/snapshot"
	"dyno/internal/target"
)

// Check tries every source of figures once and tells what each gave.
func (a *App) Check(ctx context.Context, t *target.Target) ([]snapshot.Source, error) {
	s, err := scrape.New(t, scrape.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	sources := s.Once(ctx).Sources
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := digestsource.Open(ctx, t, digestsource.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	look, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := d.Begin(ctx); err != nil {
		return nil, err
	}
	if err := d.Run(look); err != nil && look.Err() == nil {
		return nil, err
	}
	_, more, err := d.End(ctx)
	return append(sources, more...), err
}
