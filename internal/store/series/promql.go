package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/dyno-perf/dyno/internal/metric"
)

// PrometheusVersion is the release of Prometheus whose PromQL the Engine speaks.
const PrometheusVersion = "3.15.0"

// MaxPoints is how many steps a range query may have, as in Prometheus.
const MaxPoints = 11_000

// MaxExpression is how long an expression, or all selectors of a list together, may be, in bytes. Prometheus has no
// such bound, and a megabyte of opening brackets ends it: they are nested calls, and a stack that is too deep is the
// end of a program.
const MaxExpression = 32 << 10

// MaxSelectors is how many selectors a list of series, names or values may be asked by: the series of each are gone
// through.
const MaxSelectors = 32

// MaxVectorSelectors is how many selectors an expression may have: the series of all are looked up before any is
// evaluated.
const MaxVectorSelectors = 64

var errLong = fmt.Errorf("it is longer than %d bytes", MaxExpression)

// Limits bound what one query may take. The zero value of a field means its default.
type Limits struct {
	Timeout time.Duration // of one query, waiting for its turn included; 30 s
	Samples int           // held in memory at a time by one query, 16 bytes each; 5 million
	Series  int           // found by all selectors of one query together; 500 000
	// in one answer, of which its labels take as much again at most; 1 million, some 30 MB of JSON
	Points     int
	Concurrent int // queries that run at a time, others wait; 4
	// how long a sample stands for its series when no newer one and no stale marker came; 5 min
	Lookback time.Duration
}

// Engine answers PromQL from a Store (https://prometheus.io/docs/prometheus/latest/querying/basics/). It is safe for
// concurrent use and holds nothing that must be closed. The label __type__, in which the store keeps a series' kind, is
// never shown; Metadata tells it.
type Engine struct {
	store  *Store
	help   func(name string) string
	limits Limits
	parser parser.Parser
	engine *promql.Engine
	turn   chan struct{}
	text   int    // mostTextOfAll but in tests
	memory uint64 // mostMemory but in tests
}

// NewEngine returns an engine over s. help gives the description of a metric, "" when there is none; it may be nil.
func NewEngine(s *Store, help func(name string) string, l Limits) *Engine {
	if l.Timeout <= 0 {
		l.Timeout = 30 * time.Second
	}
	if l.Samples <= 0 {
		l.Samples = 5_000_000
	}
	if l.Series <= 0 {
		l.Series = 500_000
	}
	if l.Points <= 0 {
		l.Points = 1_000_000
	}
	if l.Concurrent <= 0 {
		l.Concurrent = 4
	}
	if l.Lookback <= 0 {
		l.Lookback = 5 * time.Minute
	}
	if help == nil {
		help = func(string) string { return "" }
	}
	e := &Engine{
		store: s, help: help, limits: l, parser: parser.NewParser(parser.Options{}),
		turn: make(chan struct{}, l.Concurrent), text: mostTextOfAll, memory: mostMemory,
	}
	e.engine = e.evaluator(l.Samples)
	return e
}

// evaluator returns an engine that holds so many samples at a time.
func (e *Engine) evaluator(samples int) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: samples, Timeout: e.limits.Timeout,
		LookbackDelta: e.limits.Lookback,
		// Prometheus' evaluation_interval
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: e.parser,
	})
}

// QueryOptions are what a caller may ask for beside the expression.
type QueryOptions struct {
	Timeout  time.Duration // 0: the engine's; a longer one than the engine's has no effect
	Limit    int           // series in the answer, 0 for all
	Lookback time.Duration // 0: the engine's
}

// Query evaluates an expression at a moment. Its error is a *QueryError.
func (e *Engine) Query(ctx context.Context, expr string, at time.Time, o QueryOptions) (Answer, error) {
	return e.run(ctx, expr, 0, 1, o, func(ctx context.Context, by *promql.Engine, q storage.Queryable,
		po promql.QueryOpts,
	) (promql.Query, error) {
		return by.NewInstantQuery(ctx, q, po, expr, at)
	})
}

// QueryRange evaluates an expression at from, from+step, … up to to. Its error is a *QueryError.
func (e *Engine) QueryRange(ctx context.Context, expr string, from, to time.Time, step time.Duration,
	o QueryOptions,
) (Answer, error) {
	switch {
	case to.Before(from):
		return Answer{}, bad("end", errors.New("end timestamp must not be before start time"))
	case step < time.Millisecond:
		return Answer{}, bad("step", errors.New("zero or negative query resolution step widths are not accepted. Try "+
			"a positive integer"))
	case (float64(to.UnixMilli())-float64(from.UnixMilli()))/float64(step.Milliseconds()) > MaxPoints:
		// Time.Sub ends at 292 years
		return Answer{}, &QueryError{BadData, errors.New("exceeded maximum resolution of 11,000 points per " +
			"timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	span := float64(to.UnixMilli()) - float64(from.UnixMilli())
	return e.run(ctx, expr, span, span/float64(step.Milliseconds())+1, o, func(ctx context.Context, by *promql.Engine,
		q storage.Queryable, po promql.QueryOpts,
	) (promql.Query, error) {
		return by.NewRangeQuery(ctx, q, po, expr, from, to, step)
	})
}

// run evaluates an expression at a number of steps over a span, milliseconds.
func (e *Engine) run(ctx context.Context, expr string, span, steps float64, o QueryOptions,
	begin func(context.Context, *promql.Engine, storage.Queryable, promql.QueryOpts) (promql.Query, error),
) (Answer, error) {
	if err := checkRegexps(expr); err != nil {
		return Answer{}, bad("query", err)
	}
	x, err := e.parser.ParseExpr(expr)
	if err != nil {
		return Answer{}, bad("query", err)
	}
	if n := vectorSelectors(x); n > MaxVectorSelectors {
		return Answer{}, bad("query", fmt.Errorf("it has %d selectors, and %d are allowed: join some with | in a "+
			"matcher of =~", n, MaxVectorSelectors))
	}
	room, made, err := roomFor(x, span, steps)
	if err != nil {
		return Answer{}, bad("query", err)
	}
	_, length, matching := text(x)
	if length > mostText {
		return Answer{}, &QueryError{Execution, errText}
	}
	series := min(e.limits.Series, room, e.text/max(length, 1), int(mostMatching/max(matching, 1)))
	by := e.engine
	if made {
		by = e.evaluator(min(e.limits.Samples, series)) // each series has a sample at least
	}
	limit := e.limits.Timeout
	if o.Timeout > 0 {
		limit = min(limit, o.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Each running query may hold Limits.Samples: without turns a page of graphs could take all memory.
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return Answer{}, queryError(promqlContext(ctx, "waiting for its turn"))
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go watchMemory(ctx, e.memory, end)
	q, err := begin(ctx, by, &shown{e.store.bounded(series)}, promql.NewPrometheusQueryOpts(false, o.Lookback))
	if err != nil {
		return Answer{}, bad("query", err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		if errors.Is(context.Cause(ctx), errMemory) {
			return Answer{}, &QueryError{Execution, errMemory}
		}
		return Answer{}, queryError(res.Err)
	}
	a, err := answer(res.Value, o.Limit, e.limits.Points)
	if err != nil {
		return Answer{}, &QueryError{Execution, err}
	}
	w, i := res.Warnings.AsStrings(q.String(), 10, 10)
	a.Warnings, a.Infos = append(a.Warnings, w...), append(a.Infos, i...)
	return a, nil
}

// vectorSelectors counts the selectors of an expression.
func vectorSelectors(n parser.Node) (count int) {
	if _, ok := n.(*parser.VectorSelector); ok {
		count = 1
	}
	for child := range parser.ChildrenIter(n) {
		count += vectorSelectors(child)
	}
	return count
}

// Listing is a list that may have been cut.
type Listing[T any] struct {
	Items []T
	Cut   bool // there were more than the limit
}

func cut[T any](items []T, limit int) Listing[T] {
	if limit > 0 && len(items) > limit {
		return Listing[T]{items[:limit], true}
	}
	return Listing[T]{Items: items}
}

// Matching returns the labels, __name__ among them, of the series that fit any of the selectors and have samples about
// the time from from to to (zero: no bound); a limit of 0 is none. Like the others below it may also name series that
// ended up to some hours outside of that time, as Prometheus does.
func (e *Engine) Matching(ctx context.Context, selectors []string, from, to time.Time,
	limit int,
) (Listing[metric.Labels], error) {
	var out []metric.Labels
	err := e.browse(ctx, selectors, from, to, true, func(q storage.Querier, sets [][]*labels.Matcher) error {
		hints := &storage.SelectHints{
			Start: millis(from, math.MinInt64), End: millis(to, math.MaxInt64),
			Func: "series",
		}
		for _, ms := range sets {
			set := q.Select(ctx, true, hints, ms...)
			for n := 0; (limit == 0 || n <= limit) && set.Next(); n++ {
				// sorted: the first of all are among the first of each
				out = append(out, toLabels(set.At().Labels()))
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if err := set.Err(); err != nil {
				return err
			}
			slices.SortFunc(out, metric.Labels.Compare)
			out = slices.CompactFunc(out, func(a, b metric.Labels) bool { return a.Compare(b) == 0 })
			if limit > 0 && len(out) > limit {
				clear(out[limit+1:])
				out = out[:limit+1]
			}
		}
		return nil
	})
	return cut(out, limit), err
}

// LabelNames returns the names of the labels that the matching series have, in order; without selectors those of all
// series.
func (e *Engine) LabelNames(ctx context.Context, selectors []string, from, to time.Time,
	limit int,
) (Listing[string], error) {
	out, err := e.strings(ctx, selectors, from, to, func(q storage.Querier, ms []*labels.Matcher) ([]string, error) {
		names, _, err := q.LabelNames(ctx, nil, ms...)
		return names, err
	})
	return cut(out, limit), err
}

// LabelValues returns the values that a label has in the matching series, in order; without selectors in all series.
func (e *Engine) LabelValues(ctx context.Context, label string, selectors []string, from, to time.Time,
	limit int,
) (Listing[string], error) {
	if strings.HasPrefix(label, "U__") {
		label = model.UnescapeName(label, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(label) {
		return Listing[string]{}, &QueryError{BadData, fmt.Errorf("invalid label name: %q", label)}
	}
	out, err := e.strings(ctx, selectors, from, to, func(q storage.Querier, ms []*labels.Matcher) ([]string, error) {
		values, _, err := q.LabelValues(ctx, label, nil, ms...)
		return values, err
	})
	return cut(out, limit), err
}

func (e *Engine) strings(ctx context.Context, selectors []string, from, to time.Time,
	get func(storage.Querier, []*labels.Matcher) ([]string, error),
) ([]string, error) {
	var out []string
	err := e.browse(ctx, selectors, from, to, false, func(q storage.Querier, sets [][]*labels.Matcher) error {
		if len(sets) == 0 {
			sets = [][]*labels.Matcher{nil}
		}
		for _, ms := range sets {
			ss, err := get(q, ms)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			for _, s := range ss {
				out = append(out, strings.Clone(s)) // the database's strings are parts of mapped files
			}
			slices.Sort(out)
			out = slices.Compact(out)
		}
		return nil
	})
	return out, err
}

// Metadata is what is known about a metric beside its values.
type Metadata struct {
	Type string `json:"type"` // "counter", "gauge"
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Metadata returns what is known by name of metric, of one metric when name is not empty; a limit of 0 is none, and
// with one the first names are returned.
func (e *Engine) Metadata(ctx context.Context, name string, limit int) (map[string][]Metadata, error) {
	out := map[string][]Metadata{}
	err := e.browse(ctx, nil, time.Time{}, time.Time{}, false, func(q storage.Querier, _ [][]*labels.Matcher) error {
		for _, kind := range [...]metric.Kind{metric.Counter, metric.Gauge} {
			ms := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, kindLabel, kind.String())}
			if name != "" {
				ms = append(ms, labels.MustNewMatcher(labels.MatchEqual, nameLabel, name))
			}
			names, _, err := q.LabelValues(ctx, nameLabel, nil, ms...)
			if err != nil {
				return err
			}
			for _, n := range names {
				n = strings.Clone(n)
				out[n] = append(out[n], Metadata{Type: kind.String(), Help: e.help(n)})
			}
		}
		return nil
	})
	if limit > 0 && len(out) > limit {
		names := make([]string, 0, len(out))
		for n := range out {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names[limit:] {
			delete(out, n)
		}
	}
	return out, err
}

// browse parses selectors and hands a querier over that time to do.
func (e *Engine) browse(ctx context.Context, selectors []string, from, to time.Time, need bool,
	do func(storage.Querier, [][]*labels.Matcher) error,
) error {
	if need && len(selectors) == 0 {
		return &QueryError{BadData, errors.New("no match[] parameter provided")}
	}
	if len(selectors) > MaxSelectors {
		return bad("match[]",
			fmt.Errorf("it is given %d times, and %d are allowed: join some with | in a matcher of =~",
				len(selectors), MaxSelectors))
	}
	if err := checkRegexps(selectors...); err != nil {
		return bad("match[]", err)
	}
	sets, err := e.parser.ParseMetricSelectors(selectors)
	if err != nil {
		return bad("match[]", err)
	}
	for _, ms := range sets {
		if !slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches("") }) {
			return bad("match[]", errors.New("match[] must contain at least one non-empty matcher"))
		}
	}
	if _, err := e.store.open(); err != nil {
		return &QueryError{Unavailable, err}
	}
	ctx, cancel := context.WithTimeout(ctx, e.limits.Timeout)
	defer cancel()
	q, err := (&shown{e.store.bounded(e.limits.Series)}).Querier(millis(from, math.MinInt64), millis(to, math.MaxInt64))
	if err != nil {
		return queryError(err)
	}
	err = do(q, sets)
	if err = errors.Join(err, q.Close()); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return queryError(promqlContext(ctx, "listing series"))
	}
	return queryError(promql.ErrStorage{Err: err})
}

func millis(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMilli()
}

func toLabels(ls labels.Labels) metric.Labels {
	out := make(metric.Labels, 0, ls.Len())
	ls.Range(func(l labels.Label) {
		out = append(out, metric.Label{Name: strings.Clone(l.Name), Value: strings.Clone(l.Value)})
	})
	return out
}
