package series

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// shown is a queryable whose series have no __type__: Prometheus keeps types beside the series, and a label that joins and
// aggregations trip over would make expressions answer differently here. Two series that differ in nothing else, because a
// program learned a better kind, become one.
type shown struct{ storage.Queryable }

func (s *shown) Querier(from, to int64) (storage.Querier, error) {
	q, err := s.Queryable.Querier(from, to)
	if err != nil {
		return nil, promql.ErrStorage{Err: err} // the engine would take it for a fault of the expression
	}
	return &shownQuerier{q}, nil
}

type shownQuerier struct{ storage.Querier }

func (q *shownQuerier) LabelNames(ctx context.Context, h *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names, w, err := q.Querier.LabelNames(ctx, h, ms...)
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == kindLabel })
	return names, w, err
}

func (q *shownQuerier) LabelValues(ctx context.Context, name string, h *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	if name == kindLabel {
		return nil, nil, nil
	}
	return q.Querier.LabelValues(ctx, name, h, ms...)
}

func (q *shownQuerier) Select(ctx context.Context, _ bool, h *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	// Without one label the order is another one, so all series are gathered; the engine does that anyway.
	set := q.Querier.Select(ctx, false, h, ms...)
	var all []storage.Series
	b := labels.NewBuilder(labels.EmptyLabels())
	for set.Next() {
		x := set.At()
		b.Reset(x.Labels())
		b.Del(kindLabel)
		all = append(all, &shownSeries{Series: x, labels: b.Labels()})
	}
	slices.SortStableFunc(all, func(x, y storage.Series) int { return labels.Compare(x.Labels(), y.Labels()) })
	out := all[:0]
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && labels.Equal(all[i].Labels(), all[j].Labels()) {
			j++
		}
		x := all[i]
		if j > i+1 {
			x = storage.ChainedSeriesMerge(slices.Clone(all[i:j])...)
		}
		out = append(out, x)
		i = j
	}
	return &shownSet{series: out, at: -1, err: set.Err(), warnings: set.Warnings()}
}

type shownSeries struct {
	storage.Series
	labels labels.Labels
}

func (s *shownSeries) Labels() labels.Labels { return s.labels }

func (s *shownSeries) Iterator(it chunkenc.Iterator) chunkenc.Iterator { return s.Series.Iterator(it) }

type shownSet struct {
	series   []storage.Series
	at       int
	err      error
	warnings annotations.Annotations
}

func (s *shownSet) Next() bool {
	if s.err != nil {
		return false
	}
	s.at++
	return s.at < len(s.series)
}

func (s *shownSet) At() storage.Series                { return s.series[s.at] }
func (s *shownSet) Err() error                        { return s.err }
func (s *shownSet) Warnings() annotations.Annotations { return s.warnings }
