package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/dyno-perf/dyno/internal/metric"
)

// queryable reads the store for PromQL: every sample as if each round had written it, stale markers included, with the
// label __type__. Marks and the label __source__ are not seen. Long ranges are read from the level of minutes when that
// gives the same answer, and times whose seconds are dropped always; see minutes.go. A querier must be closed before
// Close of the store can end.
func (s *Store) queryable() storage.Queryable { return s.bounded(math.MaxInt) }

// bounded is queryable for a query that may find most series in all, each time that it finds it.
func (s *Store) bounded(most int) storage.Queryable {
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		db, minutes, release, err := s.hold()
		if err != nil {
			return nil, err
		}
		q := &querier{release: release, minutesDB: minutes, lo: mint, hi: maxt, most: int64(most)}
		if q.seconds, err = openLevel(db, mint, maxt, heartbeatMS); err != nil {
			release()
			return nil, err
		}
		if q.first, q.any = oldest(db); !q.any {
			q.first = math.MaxInt64
		}
		return q, nil
	})
}

// hold returns the databases, which are not closed until release is called; further calls of release do nothing.
func (s *Store) hold() (seconds, minutes *tsdb.DB, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil, nil, nil, failed("read", s.dir, errClosed)
	}
	s.readers.RLock()
	return s.db, s.minutes, sync.OnceFunc(s.readers.RUnlock), nil
}

// level reads one of the databases between lo and hi, both included.
type level struct {
	in     storage.Querier
	lo, hi int64
	reach  int64

	mu    sync.Mutex
	marks map[groupKey]runs // those that were needed so far
}

func openLevel(db *tsdb.DB, lo, hi, reach int64) (*level, error) {
	in, err := db.Querier(before(lo, reach), hi)
	if err != nil {
		return nil, err
	}
	return &level{in: in, lo: lo, hi: hi, reach: reach, marks: map[groupKey]runs{}}, nil
}

// each calls f with every series and the marks of its source, for those that have one.
func (l *level) each(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher,
	f func(storage.Series, labels.Labels, runs) error,
) (annotations.Annotations, error) {
	set := l.in.Select(ctx, false, hints, ms...)
	for set.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x := set.At()
		ls := x.Labels()
		var marks runs
		if source := ls.Get(sourceLabel); source != "" && (hints == nil || hints.Func != "series") {
			var err error
			if marks, err = l.runs(ctx, groupKey{ls.Get(targetLabel), source}); err != nil {
				return nil, err
			}
		}
		if err := f(x, ls, marks); err != nil {
			return nil, err
		}
	}
	return set.Warnings(), set.Err()
}

// runs returns the marks of a source.
func (l *level) runs(ctx context.Context, key groupKey) (runs, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rs, ok := l.marks[key]; ok {
		return rs, nil
	}
	set := l.in.Select(ctx, false, &storage.SelectHints{Start: before(l.lo, l.reach), End: l.hi},
		labels.MustNewMatcher(labels.MatchEqual, nameLabel, markName),
		labels.MustNewMatcher(labels.MatchEqual, sourceLabel, key.source),
		labels.MustNewMatcher(labels.MatchEqual, targetLabel, key.target))
	var rs runs
	for set.Next() {
		var err error
		if rs, err = readRuns(set.At().Iterator(nil)); err != nil {
			return nil, err
		}
	}
	if err := set.Err(); err != nil {
		return nil, err
	}
	l.marks[key] = rs
	return rs, nil
}

// querier reads between lo and hi, both included.
type querier struct {
	release   func()
	seconds   *level
	minutesDB *tsdb.DB
	lo, hi    int64
	first     int64 // time of the oldest second
	any       bool
	most      int64        // series
	found     atomic.Int64 // so far

	mu      sync.Mutex
	minutes *level // nil until it is needed
	made    int64  // up to where there are minutes
	dropped bool   // there are minutes whose seconds are not kept any more
}

// coarse opens the level of minutes.
func (q *querier) coarse(ctx context.Context) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.minutes != nil {
		return nil
	}
	if q.made, err = progress(ctx, q.minutesDB); err != nil {
		return err
	}
	if first, ok := oldest(q.minutesDB); ok {
		q.dropped = !q.any || first < q.first-unitMS
	}
	q.minutes, err = openLevel(q.minutesDB, q.lo, q.hi, minutesReach)
	return err
}

// exact lists what minutes answer as seconds do, when windows begin and end with minutes. An instant selector is
// exact in any function.
var exact = map[string]bool{
	"rate": true, "increase": true, "delta": true, "resets": true, "min_over_time": true, "max_over_time": true,
	"first_over_time": true, "last_over_time": true, "present_over_time": true, "absent_over_time": true,
}

// split returns up to which time to read minutes; not ok for none.
func (q *querier) split(ctx context.Context, lo, hi int64, h *storage.SelectHints) (to int64, ok bool, err error) {
	aligned := h != nil && (exact[h.Func] || h.Range == 0 && h.Func != "series") && h.Step%minuteMS == 0 &&
		h.Range%minuteMS == 0 &&
		(h.Start-1)%minuteMS == 0 && hi/2-lo/2 >= longSpan.Milliseconds()/2
	if !aligned && lo >= q.first {
		return 0, false, nil
	}
	if err := q.coarse(ctx); err != nil {
		return 0, false, err
	}
	switch {
	case aligned && q.made > lo:
		return min(q.made, hi), true, nil
	case !q.dropped || lo >= q.first:
		return 0, false, nil
	case !q.any:
		return min(q.made, hi), true, nil
	}
	// A series that stands still shows in the seconds that are left with its first heartbeat.
	return min(floor(q.first+heartbeatMS, minuteMS)+minuteMS, q.made, hi), true, nil
}

// Select is part of storage.Querier.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	ms ...*labels.Matcher,
) storage.SeriesSet {
	lo, hi := q.lo, q.hi
	inner := storage.SelectHints{Start: lo, End: hi}
	if hints != nil {
		inner = *hints
		lo, hi = max(lo, hints.Start), min(hi, hints.End)
	}
	to, old, err := q.split(ctx, lo, hi, hints)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if inner.Func == "series" { // those of one selector are let go before the next
		q.found.Store(0)
	}
	all := gathered{count: q.count}
	ms = visible(ms)
	if old {
		if err := q.gatherMinutes(ctx, &all, inner, ms, lo, to); err != nil {
			return storage.ErrSeriesSet(err)
		}
		lo = to + 1
	}
	if lo <= hi {
		inner.Start = before(lo, heartbeatMS)
		n := len(all.series)
		if err := all.add(ctx, q.seconds, inner, ms, lo, hi, false); err != nil {
			return storage.ErrSeriesSet(err)
		}
		for i, x := range all.series[n:] { // minutes and seconds in one window must weigh alike
			if old && inner.Func == avgFunc && x.Labels().Get(kindLabel) != metric.Counter.String() {
				all.series[n+i] = &averaged{x}
			}
		}
	}
	return all.set(sorted)
}

// gatherMinutes adds what minutes have from lo to hi.
func (q *querier) gatherMinutes(ctx context.Context, all *gathered, h storage.SelectHints,
	ms []*labels.Matcher, lo, hi int64,
) error {
	h.Start, h.End = before(lo, minutesReach), hi
	kept := labels.MustNewMatcher(labels.MatchEqual, aggLabel, "")
	if h.Func != avgFunc {
		return all.add(ctx, q.minutes, h, append(slices.Clone(ms), kept), lo, hi, false)
	}
	counter := labels.MustNewMatcher(labels.MatchEqual, kindLabel, metric.Counter.String())
	if err := all.add(ctx, q.minutes, h, append(slices.Clone(ms), kept, counter), lo, hi, false); err != nil {
		return err
	}
	return all.add(ctx, q.minutes, h, append(slices.Clone(ms), labels.MustNewMatcher(labels.MatchEqual, aggLabel,
		aggMean)), lo, hi, true)
}

// count counts a series that is found.
func (q *querier) count() error {
	if q.found.Add(1) > q.most {
		return &QueryError{Execution, fmt.Errorf("the selectors find more than %d series, which are allowed: narrow "+
			"them down", q.most)}
	}
	return nil
}

// gathered is what a Select has found so far.
type gathered struct {
	count    func() error // called for each series, unless it is nil
	series   []storage.Series
	seen     map[uint64]bool
	twice    bool
	warnings annotations.Annotations
}

// add adds the series of a level from lo to hi; means, when they are such.
func (g *gathered) add(ctx context.Context, l *level, h storage.SelectHints, ms []*labels.Matcher, lo,
	hi int64, means bool,
) error {
	if g.seen == nil {
		g.seen = map[uint64]bool{}
	}
	minutes := map[*run]runs{} // of the marks that are shared
	b := labels.NewBuilder(labels.EmptyLabels())
	warnings, err := l.each(ctx, &h, ms, func(x storage.Series, ls labels.Labels, marks runs) error {
		if g.count != nil {
			if err := g.count(); err != nil {
				return err
			}
		}
		b.Reset(ls)
		e := &entry{
			series: x, labels: b.Del(sourceLabel, aggLabel).Labels(), marks: marks, lo: lo,
			hi: hi, reach: l.reach,
		}
		if means && len(marks) > 0 {
			rs, ok := minutes[&marks[0]]
			if !ok {
				rs = ends(marks)
				minutes[&marks[0]] = rs
			}
			e.marks = rs
		}
		key := e.labels.Hash()
		g.twice = g.twice || g.seen[key]
		g.seen[key] = true
		g.series = append(g.series, e)
		return nil
	})
	g.warnings.Merge(warnings)
	return err
}

// set returns all series, each once.
func (g *gathered) set(sorted bool) storage.SeriesSet {
	if sorted || g.twice { // without __source__ the order may be another
		slices.SortStableFunc(g.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	}
	if g.twice {
		g.series = merge(g.series)
	}
	return &list{series: g.series, at: -1, warnings: g.warnings}
}

// visible adds to matchers that marks are not wanted, unless they cannot match.
func visible(ms []*labels.Matcher) []*labels.Matcher {
	for _, m := range ms {
		if m.Name == nameLabel && !m.Matches(markName) {
			return ms
		}
	}
	return append(slices.Clone(ms), labels.MustNewMatcher(labels.MatchNotEqual, nameLabel, markName))
}

// merge joins neighbours with the same labels: a series that another source gave from some time on.
func merge(in []storage.Series) (out []storage.Series) {
	for len(in) > 0 {
		n := 1
		for n < len(in) && labels.Equal(in[0].Labels(), in[n].Labels()) {
			n++
		}
		if n == 1 {
			out = append(out, in[0])
		} else {
			out = append(out, storage.ChainedSeriesMerge(in[:n]...))
		}
		in = in[n:]
	}
	return out
}

// LabelValues is part of storage.LabelQuerier.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	if name == sourceLabel || name == aggLabel {
		return nil, nil, nil
	}
	return q.both(ctx, ms, markName, func(in storage.Querier, ms []*labels.Matcher) (
		[]string, annotations.Annotations, error,
	) {
		return in.LabelValues(ctx, name, hints, ms...)
	})
}

// LabelNames is part of storage.LabelQuerier.
func (q *querier) LabelNames(
	ctx context.Context, hints *storage.LabelHints, ms ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.both(ctx, ms, sourceLabel, func(in storage.Querier, ms []*labels.Matcher) (
		[]string, annotations.Annotations, error,
	) {
		return in.LabelNames(ctx, hints, ms...)
	})
}

// both asks the seconds, and the minutes where they reach further back, and leaves out the name that is ours.
func (q *querier) both(ctx context.Context, ms []*labels.Matcher, own string,
	ask func(storage.Querier, []*labels.Matcher) ([]string, annotations.Annotations, error),
) ([]string, annotations.Annotations, error) {
	if len(ms) > 0 {
		ms = visible(ms)
	}
	found, warnings, err := ask(q.seconds.in, ms)
	if err == nil && q.lo < q.first {
		err = q.coarse(ctx)
		if err == nil && q.dropped {
			var more []string
			more, _, err = ask(q.minutes.in, ms)
			found = slices.Concat(found, more)
			slices.Sort(found)
		}
	}
	if err != nil {
		return nil, warnings, err
	}
	found = slices.DeleteFunc(slices.Clone(found), func(s string) bool {
		return s == own || s == aggLabel ||
			s == madeLabel && own == sourceLabel
	})
	return slices.Compact(found), warnings, nil
}

// Close is part of storage.Querier.
func (q *querier) Close() error {
	defer q.release()
	err := q.seconds.in.Close()
	if q.minutes != nil {
		err = errors.Join(err, q.minutes.in.Close())
	}
	return err
}

// entry is one series within lo and hi.
type entry struct {
	series        storage.Series
	labels        labels.Labels // without the source
	marks         runs
	lo, hi, reach int64
}

// Labels is part of storage.Series.
func (e *entry) Labels() labels.Labels { return e.labels }

// Iterator is part of storage.Series.
func (e *entry) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	x, ok := it.(*iterator[int64])
	if !ok {
		x = &iterator[int64]{}
	}
	x.expander = expander{in: e.series.Iterator(x.in), marks: e.marks, lo: e.lo, hi: e.hi, reach: e.reach}
	return x
}

// list is a set of series that are all known.
type list struct {
	series   []storage.Series
	at       int
	warnings annotations.Annotations
}

// Next is part of storage.SeriesSet.
func (l *list) Next() bool {
	l.at++
	return l.at < len(l.series)
}

// At is part of storage.SeriesSet.
func (l *list) At() storage.Series { return l.series[l.at] }

// Err is part of storage.SeriesSet.
func (l *list) Err() error { return nil }

// Warnings is part of storage.SeriesSet.
func (l *list) Warnings() annotations.Annotations { return l.warnings }
