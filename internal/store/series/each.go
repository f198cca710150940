package series

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Each calls f for each series that has samples from from to to (Unix milliseconds, both included) with all of them in
// order of time, stale markers (https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness) among them:
// what another store must be given to hold the same. The order of the series is free. The points are valid during the
// call only. An error of f ends it and is returned.
func (s *Store) Each(ctx context.Context, from, to int64, f func(metric.Series) error) error {
	q, err := s.queryable().Querier(from, to)
	if err != nil {
		return failed("read", s.dir, err)
	}
	var points []metric.Point
	set := q.Select(ctx, false, nil, every())
	var it chunkenc.Iterator
	for set.Next() && err == nil {
		x := set.At()
		it = x.Iterator(it)
		points = points[:0]
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			t, v := it.At()
			points = append(points, metric.Point{At: t, Value: v})
		}
		if err = errors.Join(it.Err(), ctx.Err()); err == nil && len(points) > 0 {
			r := named(x.Labels())
			r.Points = points
			if err := f(r); err != nil {
				return errors.Join(err, q.Close())
			}
		}
	}
	err = errors.Join(err, set.Err(), q.Close())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed("read", s.dir, err)
	}
	return nil
}
