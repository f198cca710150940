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

// shown is a queryable whose series have no __type__: Prometheus keeps types beside the series, and a label that joins
// and aggregations trip over would make expressions answer differently here. Two series that differ in nothing else,
// because a program learned a better kind, become one.
//
// Each series of a target shows the target as its instance too, and dyno as its job, as if a Prometheus had scraped it:
// dashboards choose and join by these. Neither is stored.
type shown struct{ storage.Queryable }

func (s *shown) Querier(from, to int64) (storage.Querier, error) {
	q, err := s.Queryable.Querier(from, to)
	if err != nil {
		return nil, promql.ErrStorage{Err: err} // the engine would take it for a fault of the expression
	}
	return &shownQuerier{q}, nil
}

type shownQuerier struct{ storage.Querier }

func (q *shownQuerier) LabelNames(
	ctx context.Context, h *storage.LabelHints, ms ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	names, w, err := q.Querier.LabelNames(ctx, h, asStored(ms)...)
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == kindLabel })
	if slices.Contains(names, targetLabel) {
		names = append(names, instanceLabel, jobLabel)
		slices.Sort(names)
	}
	return names, w, err
}

func (q *shownQuerier) LabelValues(ctx context.Context, name string, h *storage.LabelHints, ms ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	asked := name
	switch name {
	case kindLabel:
		return nil, nil, nil
	case instanceLabel, jobLabel:
		name = targetLabel
	}
	values, w, err := q.Querier.LabelValues(ctx, name, h, asStored(ms)...)
	if asked == jobLabel && len(values) > 0 {
		values = []string{jobName}
	}
	return values, w, err
}

// asStored words matchers on the labels that are shown as matchers on what is stored.
func asStored(ms []*labels.Matcher) []*labels.Matcher {
	out := make([]*labels.Matcher, 0, len(ms))
	for _, m := range ms {
		switch ofTarget, ofNone := m.Matches(jobName), m.Matches(""); {
		case m.Name == instanceLabel:
			m = labels.MustNewMatcher(m.Type, targetLabel, m.Value) // its value was a good one before
		case m.Name != jobLabel:
		case ofTarget && ofNone:
			continue
		case ofTarget:
			m = labels.MustNewMatcher(labels.MatchNotEqual, targetLabel, "")
		case ofNone:
			m = labels.MustNewMatcher(labels.MatchEqual, targetLabel, "")
		default:
			m = labels.MustNewMatcher(labels.MatchEqual, nameLabel, "") // every series has a name
		}
		out = append(out, m)
	}
	return out
}

func (q *shownQuerier) Select(ctx context.Context, _ bool, h *storage.SelectHints,
	ms ...*labels.Matcher,
) storage.SeriesSet {
	// Without one label the order is another one, so all series are gathered; the engine does that anyway.
	set := q.Querier.Select(ctx, false, h, asStored(ms)...)
	var all []storage.Series
	b := labels.NewBuilder(labels.EmptyLabels())
	for set.Next() {
		x := set.At()
		b.Reset(x.Labels())
		b.Del(kindLabel)
		if t := x.Labels().Get(targetLabel); t != "" {
			b.Set(instanceLabel, t).Set(jobLabel, jobName)
		}
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
