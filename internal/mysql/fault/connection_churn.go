package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	churners = 16                   // pages of a site, each with a connection of its own
	churnGap = 5 * time.Millisecond // between two of a churner's queries, its own time included
)

// connectionChurn plants an application that connects for every query.
func connectionChurn() fault.Fault {
	m := fault.Mix{
		ID: "connection-churn", About: "reads and writes of single clients over persistent connections",
		Rows: 100_000,
		Tables: func(n fault.Names, rows int) []workload.Table {
			return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
		},
		Operations: []fault.Operation{fault.GetClient(70), fault.LastVisits(20), fault.UpdateBalance(10)},
	}
	return fault.Fault{
		Name:  "connection-churn",
		Title: "an application reconnects for every query, and the server caches no threads",
		Story: "A site opens a connection for each of its queries, up to 3200 a second, and closes it again. " +
			"thread_cache_size is 0, so the " +
			"server creates and ends a thread each time. The queries cost next to nothing; logging in costs CPU that " +
			"all other sessions lack. " +
			"The fix is a pool of connections in the application; a thread cache helps a little.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sizedWith("thread_cache_size", "0"),
		Workload: m,
		Actors: []fault.Actor{{Name: "site", Run: func(ctx context.Context, s fault.Stage) error {
			return visitSite(ctx, s, true)
		}}},
		Cure: fault.Cure{
			Kind: fault.CureWorkload, Workload: m,
			Actors: []fault.Actor{{Name: "site with a pool", Run: func(ctx context.Context, s fault.Stage) error {
				return visitSite(ctx, s, false)
			}}},
		},
		Right: func(n fault.Names) fault.Expectation { return fault.Expectation{Rule: "connection-churn"} },
	}
}

// visitSite asks the same queries at the same pace, over a connection for each of them or over lasting ones.
func visitSite(ctx context.Context, s fault.Stage, anew bool) error {
	on, err := serverOf(s)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := range churners {
		g.Go(func() error {
			r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
			t := time.NewTicker(churnGap)
			defer t.Stop()
			var c *target.Session
			defer func() {
				if c != nil {
					c.Close()
				}
			}()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-t.C:
				}
				var err error
				if c == nil {
					if c, err = on.Session(ctx, target.SessionOptions{Database: s.Schema}); err != nil {
						return ended(ctx, err)
					}
				}
				q := fmt.Sprintf("SELECT {clients.city} FROM {clients} WHERE {clients.id} = %d", 1+r.IntN(1000))
				if _, err := c.Query(ctx, s.SQL(q), nil); err != nil {
					return ended(ctx, err)
				}
				if anew {
					c.Close()
					c = nil
				}
			}
		})
	}
	return g.Wait()
}

// ended is err, unless it came of the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that is how actors end
	}
	return err
}
