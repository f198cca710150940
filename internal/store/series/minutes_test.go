package series

import (
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Querier lets PromQL read the full copy.
func (f *full) Querier(lo, hi int64) (storage.Querier, error) { return &fullQuerier{f, lo, hi}, nil }

type fullQuerier struct {
	f      *full
	lo, hi int64
}

func (q *fullQuerier) Select(_ context.Context, _ bool, h *storage.SelectHints,
	ms ...*labels.Matcher,
) storage.SeriesSet {
	l := &list{at: -1}
next:
	for name, ls := range q.f.labels {
		for _, m := range ms {
			if !m.Matches(ls.Get(m.Name)) {
				continue next
			}
		}
		var ps []chunks.Sample
		for _, p := range q.f.points[name] {
			if p.at >= h.Start && p.at <= h.End {
				ps = append(ps, fullSample{p})
			}
		}
		l.series = append(l.series, storage.NewListSeries(ls, ps))
	}
	return l
}

func (q *fullQuerier) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *fullQuerier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *fullQuerier) Close() error { return nil }

type fullSample struct{ p point }

func (s fullSample) T() int64                      { return s.p.at }
func (s fullSample) F() float64                    { return math.Float64frombits(s.p.bits) }
func (s fullSample) H() *histogram.Histogram       { return nil }
func (s fullSample) FH() *histogram.FloatHistogram { return nil }
func (s fullSample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s fullSample) Copy() chunks.Sample           { return s }
func (s fullSample) ST() int64                     { return 0 }

// ask answers a range query.
func ask(t *testing.T, from storage.Queryable, expr string, lo, hi int64, step time.Duration) promql.Matrix {
	t.Helper()
	e := promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: time.Minute,
		LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
	})
	q, err := e.NewRangeQuery(t.Context(), from, nil, expr, time.UnixMilli(lo), time.UnixMilli(hi), step)
	if err != nil {
		t.Fatal(expr, err)
	}
	defer q.Close()
	r := q.Exec(t.Context())
	m, err := r.Matrix()
	if err != nil {
		t.Fatal(expr, err)
	}
	out := make(promql.Matrix, len(m)) // what the query holds ends with it
	for i, s := range m {
		out[i] = promql.Series{Metric: s.Metric, Floats: append([]promql.FPoint{}, s.Floats...)}
	}
	return out
}

// alike compares answers.
func alike(t *testing.T, expr string, want, got promql.Matrix, tolerance float64) {
	t.Helper()
	if len(want) == 0 || len(want) != len(got) {
		t.Errorf("%s: %d series, want %d", expr, len(got), len(want))
		return
	}
	have := map[string]promql.Series{}
	for _, s := range got {
		have[s.Metric.String()] = s
	}
	for _, s := range want {
		g := have[s.Metric.String()]
		if len(g.Floats) != len(s.Floats) {
			t.Errorf("%s: %v: %d points, want %d", expr, s.Metric, len(g.Floats), len(s.Floats))
			continue
		}
		for i, p := range s.Floats {
			x := g.Floats[i]
			same := math.Float64bits(x.F) == math.Float64bits(p.F) || x.F != x.F && p.F != p.F ||
				math.Abs(x.F-p.F) <= tolerance*math.Abs(p.F)
			if x.T != p.T || !same {
				t.Errorf("%s: %v at %d: %v, want %v", expr, s.Metric, p.T-t0, x.F, p.F)
				break
			}
		}
	}
}

// usesMinutes reports up to where minutes are read for a query.
func usesMinutes(t *testing.T, s *Store, lo, hi int64, h storage.SelectHints) (to int64, ok bool) {
	t.Helper()
	q, err := s.queryable().Querier(lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	to, ok, err = q.(*querier).split(t.Context(), lo, hi, &h)
	if err != nil {
		t.Fatal(err)
	}
	return to, ok
}

// fill writes hours of a world, one round in ten seconds, into a new store in dir and into the full copy, and makes the
// minutes.
func fill(t *testing.T, dir string, w *world, hours int, o Options) (*Store, *full, int64) {
	t.Helper()
	s, err := openStill(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // tests that mind have closed it
	exp, at := newFull(), t0-t0%60_000
	for i := range hours * 360 {
		if at += 10_000; !w.calm {
			switch w.rnd.IntN(800) {
			case 0:
				at += int64(w.rnd.IntN(1800)) * 1000
			case 1:
				s.epoch++ // as after a restart
				clear(s.cache)
				clear(s.groups)
				clear(exp.live)
			}
		}
		r := w.read("a", at)
		exp.add(r)
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
		if i%90 == 0 { // sooner than the database can drop seconds
			if err := condense(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := condense(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s, exp, at
}

func TestMinutesAnswerAsSeconds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := func(calm bool, exprs ...string) {
		t.Helper()
		w := newWorld(seed)
		w.calm = calm
		s, exp, end := fill(t, t.TempDir(), w, 7, Options{})
		end = floor(end, minuteMS)
		lo := end - 6*3_600_000 - 1_200_000
		if _, ok := usesMinutes(t, s, lo, end, storage.SelectHints{
			Start: lo + 1, End: end, Step: minuteMS,
			Func: "rate", Range: 5 * minuteMS,
		}); !ok {
			t.Fatal("minutes are not used")
		}
		for i, e := range exprs {
			step := []time.Duration{2, 7}[i%2] * time.Minute
			alike(t, e, ask(t, exp, e, lo, end, step), ask(t, s.queryable(), e, lo, end, step), 0)
		}
	}
	f(false, `{__name__=~".+"}`, `sum({__name__=~"status.+"}) by (row)`, `min_over_time({__name__=~".+"}[5m])`,
		`max_over_time({__name__=~".+"}[1m])`,
		`last_over_time({__name__=~".+"}[2m])`, `first_over_time({__name__=~".+"}[3m])`,
		`present_over_time({__name__=~".+"}[10m])`,
		`resets({__type__="counter"}[15m])`, `timestamp({__name__=~".+"})`, `{__name__=~".+"} offset 1h`,
		`max_over_time(up[10m:1m])`,
		`absent_over_time(slow_1[1m])`, `avg_over_time({__name__=~"status.+"}[5m])`,
		`count_over_time({__name__=~"status.+"}[5m])`, `changes(up[5m])`)
	f(true, `rate({__type__="counter",__name__=~"status.+"}[5m])`,
		`increase({__type__="counter",__name__=~"status.+"}[30m])`,
		`delta({__type__="gauge",__name__=~"status.+"}[10m])`)
}

// TestMinutesOutliveSeconds drops the seconds.
func TestMinutesOutliveSeconds(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(uint64(time.Now().UnixNano()))
	w.calm = true
	s, exp, end := fill(t, dir, w, 6, Options{Retention: 2 * time.Hour, eager: true})
	for range 2 { // what is dropped shows with the next look at the blocks
		if err := s.db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := openStill(dir, Options{Retention: 2 * time.Hour, eager: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, _ := oldest(s.db)
	if first < t0+2*3_600_000 {
		t.Fatalf("seconds from %d on are kept", first-t0)
	}
	end = floor(end, minuteMS)
	lo := floor(t0, minuteMS) + 600_000
	for _, e := range []string{
		`{__name__=~"status.+|up"}`, `max_over_time({__name__=~"status.+"}[5m])`,
		`resets({__type__="counter",__name__=~"status.+"}[30m])`,
	} {
		alike(t, e, ask(t, exp, e, lo, end, 2*time.Minute), ask(t, s.queryable(), e, lo, end, 2*time.Minute), 0)
	}
	e := `increase({__type__="counter",__name__=~"status.+"}[30m])` // from where there is half an hour
	alike(t, e, ask(t, exp, e, lo+1_800_000, end, 2*time.Minute), ask(t, s.queryable(), e, lo+1_800_000,
		end, 2*time.Minute), 0.01)
	e = `avg_over_time({__type__="gauge",__name__=~"status.+",row!~"2|7"}[30m])` // these have infinite values
	alike(t, e, ask(t, exp, e, lo+3_600_000, end, 10*time.Minute), ask(t, s.queryable(), e, lo+3_600_000,
		end, 10*time.Minute), 1e-9)
	got := mustSelect(t, s, "up", nil, t0, math.MaxInt64)
	if len(got) != 1 || got[0].Points[0].At > t0+60_000 || len(got[0].Points) < 400 {
		t.Errorf("select gives %d series", len(got))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), dir)
	if err != nil || !r.OK() || r.MinuteSamples == 0 || r.MinutesFrom.UnixMilli() > t0+60_000 {
		t.Errorf("%+v, %v", r, err)
	}
	damage(t, glob(t, dir, "minutes/wal/0*"), 0.5)
	if r, err := Check(t.Context(), dir); err != nil || r.OK() ||
		filepath.Dir(filepath.Dir(r.Lost[0].Where)) != minutesDir {
		t.Errorf("damaged minutes: %+v, %v", r, err)
	}
}

// TestUnitIsMadeTwice makes a unit again, as after a crash in its middle.
func TestUnitIsMadeTwice(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(1)
	s, _, end := fill(t, dir, w, 1, Options{})
	made, err := progress(t.Context(), s.minutes)
	if err != nil || made < end-2*unitMS {
		t.Fatal(made-t0, end-t0, err)
	}
	count := func() (n int) {
		for _, x := range minutesOf(t, s) {
			n += len(x.Points)
		}
		return n
	}
	before := count()
	if err := makeUnit(t.Context(), s.db, s.minutes, made-unitMS, made); err != nil {
		t.Fatal(err)
	}
	if after := count(); after != before || before == 0 {
		t.Errorf("%d samples, then %d", before, after)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, minutesDir)); err != nil { // they are made anew
		t.Fatal(err)
	}
	s, err = openStill(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := condense(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if after := count(); after != before {
		t.Errorf("%d samples, made anew %d", before, after)
	}
}

func minutesOf(t *testing.T, s *Store) []metric.Series {
	t.Helper()
	q, err := s.minutes.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var all []metric.Series
	if err := walk(t.Context(), q, []*labels.Matcher{every()}, func(s metric.Series) {
		s.Points = slices.Clone(s.Points)
		all = append(all, s)
	}); err != nil {
		t.Fatal(err)
	}
	sortSeries(all)
	return all
}
