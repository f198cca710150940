package series

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Match is a condition on a label, "__name__" among them. Op is "=", "!=", "=~" or "!~", with Prometheus' meaning.
type Match struct{ Label, Op, Value string }

// Reader reads the samples of many series within one window, for those who work on samples themselves and not with
// PromQL. What is common to the series of a source is read once. It is not safe for concurrent use and must be closed;
// Close of the store waits for that.
type Reader struct {
	s      *Store
	q      *querier
	points []metric.Point
	means  []metric.Point
	it     chunkenc.Iterator
}

// Reader opens a reader of what lies between from and to (Unix milliseconds, both included).
func (s *Store) Reader(from, to int64) (*Reader, error) {
	q, err := s.queryable().Querier(from, to)
	if err != nil {
		return nil, failed("read", s.dir, err)
	}
	return &Reader{s: s, q: q.(*querier)}, nil
}

// Close ends the reading.
func (r *Reader) Close() error { return r.q.Close() }

// Oldest returns since when every second is kept (Unix milliseconds); not ok when none is.
func (r *Reader) Oldest() (int64, bool) { return r.q.first, r.q.any }

// MinutesUntil returns up to where the level of minutes is made: what is older can be read with Minutes.
func (r *Reader) MinutesUntil(ctx context.Context) (int64, error) {
	if err := r.q.coarse(ctx); err != nil {
		return 0, failed("read", r.s.dir, err)
	}
	return r.q.made, nil
}

// Dropped reports whether of a time only minutes are kept, and no seconds any more.
func (r *Reader) Dropped(ctx context.Context, at int64) (bool, error) {
	if r.q.any && at >= r.q.first {
		return false, nil
	}
	if err := r.q.coarse(ctx); err != nil {
		return false, failed("read", r.s.dir, err)
	}
	return r.q.dropped, nil
}

// Seconds calls f for each matching series that has samples from from to to with all of them in order of time, stale
// markers among them. Times whose seconds are dropped give what minutes keep of them. The points are valid during the
// call only.
func (r *Reader) Seconds(ctx context.Context, from, to int64, ms []Match, f func(metric.Series)) error {
	lms, err := selectorOf(ms)
	if err != nil {
		return err
	}
	set := r.q.Select(ctx, false, &storage.SelectHints{Start: from, End: to, Step: 1}, lms...)
	for set.Next() {
		x := set.At()
		if r.points, err = r.read(r.points[:0], x); err != nil {
			return err
		}
		if len(r.points) > 0 {
			s := named(x.Labels())
			s.Points = r.points
			f(s)
		}
	}
	return r.ended(ctx, set)
}

// Minutes is Seconds from the level of minutes: of counters what their growth can be worked out from exactly at every
// full minute; of gauges the least and the greatest of each minute among other samples, and means has the mean of each
// minute at its end.
func (r *Reader) Minutes(ctx context.Context, from, to int64, ms []Match,
	f func(s metric.Series, means []metric.Point),
) error {
	lms, err := selectorOf(ms)
	if err != nil {
		return err
	}
	if err := r.q.coarse(ctx); err != nil {
		return failed("read", r.s.dir, err)
	}
	var kept, means gathered
	h := storage.SelectHints{Start: before(from, minutesReach), End: to}
	lms = visible(lms)
	add := func(g *gathered, agg string) error {
		return g.add(ctx, r.q.minutes, h, append(lms[:len(lms):len(lms)], labels.MustNewMatcher(labels.MatchEqual,
			aggLabel, agg)), from, to, agg != "")
	}
	if err := add(&kept, ""); err != nil {
		return failed("read", r.s.dir, err)
	}
	if err := add(&means, aggMean); err != nil {
		return failed("read", r.s.dir, err)
	}
	of := map[uint64]storage.Series{}
	for set := means.set(false); set.Next(); {
		of[set.At().Labels().Hash()] = set.At()
	}
	set := kept.set(false)
	for set.Next() {
		x := set.At()
		if r.points, err = r.read(r.points[:0], x); err != nil {
			return err
		}
		r.means = r.means[:0]
		if m := of[x.Labels().Hash()]; m != nil {
			if r.means, err = r.read(r.means, m); err != nil {
				return err
			}
		}
		if len(r.points) > 0 {
			s := named(x.Labels())
			s.Points = r.points
			f(s, r.means)
		}
	}
	return r.ended(ctx, set)
}

// read appends the samples of a series.
func (r *Reader) read(out []metric.Point, x storage.Series) ([]metric.Point, error) {
	r.it = x.Iterator(r.it)
	for r.it.Next() != chunkenc.ValNone {
		t, v := r.it.At()
		out = append(out, metric.Point{At: t, Value: v})
	}
	if err := r.it.Err(); err != nil {
		return out, failed("read", r.s.dir, err)
	}
	return out, nil
}

func (r *Reader) ended(ctx context.Context, set storage.SeriesSet) error {
	switch err := set.Err(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed("read", r.s.dir, err)
	}
	return nil
}

// Minute is the length of what the level of minutes sums up, in milliseconds.
const Minute = minuteMS

// LongSpan is from which length on the level of minutes is worth reading.
const LongSpan = longSpan

func selectorOf(ms []Match) ([]*labels.Matcher, error) {
	out := make([]*labels.Matcher, 0, len(ms)+1)
	for _, m := range ms {
		var op labels.MatchType
		switch m.Op {
		case "=":
			op = labels.MatchEqual
		case "!=":
			op = labels.MatchNotEqual
		case "=~":
			op = labels.MatchRegexp
		case "!~":
			op = labels.MatchNotRegexp
		default:
			return nil, fmt.Errorf("match label %s: there is no operator %q", m.Label, m.Op)
		}
		x, err := labels.NewMatcher(op, m.Label, m.Value)
		if err != nil {
			return nil, fmt.Errorf("match label %s: %w", m.Label, err)
		}
		out = append(out, x)
	}
	return out, nil
}
