package app

import (
	"context"

	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/target"
)

// Cost measures what reading each source of a target costs, one after the other, rounds times each. It only reads.
func Cost(ctx context.Context, t *target.Target, o scrape.Options, rounds int) ([]scrape.Price, error) {
	return sources.Measure(ctx, t, o, rounds)
}
