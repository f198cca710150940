package app

import (
	"context"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// Cost measures what reading each source of a target costs, one after the other, rounds times each. It only reads.
func Cost(ctx context.Context, t family.Server, o scrape.Options, rounds int) ([]scrape.Price, error) {
	return scrape.Measure(ctx, t.Scraper, o, rounds)
}
