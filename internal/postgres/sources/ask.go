package sources

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// querier is what a source needs to ask the server.
type querier interface {
	Query(ctx context.Context, sql string, row func(pgx.Rows) error, args ...any) (int, error)
	// Generation changes with each new connection: what was learned about the server may then be out of date.
	Generation() int
}

// tagged returns a statement with a comment that names the source which sends it.
func tagged(name source.Name, sql string) string { return pgtext.Tagged("scrape "+string(name), sql) }

// grantMonitor is the fix of what an account may not see.
func grantMonitor(f conn.Facts) string { return "GRANT pg_monitor TO " + conn.Quote(f.User) }

// classify words an error of a question to the server.
func classify(f conn.Facts, err error) error {
	var already *scrape.Problem
	if err == nil || errors.As(err, &already) {
		return err
	}
	p := &scrape.Problem{State: source.Failed, Reason: scrape.ReasonOf(err), Fix: conn.HintOf(err), Err: err}
	switch code, _ := conn.SQLState(err); {
	case conn.KindOf(err) == endpoint.Denied:
		p.State, p.Reason, p.Fix = source.Denied, "a privilege is missing: "+p.Reason, grantMonitor(f)
	case code == "42P01", code == "42703", code == "42883": // undefined table, column, function
		p.State, p.Reason, p.Fix = source.Missing, "PostgreSQL "+f.Version+" does not have it: "+p.Reason, ""
	case code == "57014":
		p.State, p.Fix = source.Slow, ""
	}
	return p
}

// denied is the problem of a view that shows an account less than there is instead of an error: it would look as if
// nothing happened.
func denied(f conn.Facts, what string) error {
	return &scrape.Problem{State: source.Denied, Reason: what, Fix: grantMonitor(f)}
}

// notIn is the problem of a view that came with a later version.
func notIn(f conn.Facts, what string, since int) error {
	return &scrape.Problem{
		State:  source.Missing,
		Reason: what + " came with PostgreSQL " + strconv.Itoa(since) + "; this is " + f.Version,
	}
}

// clean returns text as valid UTF-8 of bounded length.
func clean(s string) string { return state.Clip(s, 256) }

// view is a statistics view, or any query, of which each row gives the same figures.
type view struct {
	from    string   // in SQL, what stands behind FROM, conditions included
	labels  []string // of each series: NAME, or NAME=EXPRESSION
	columns []column
	limit   int // rows; 0 is 1000
}

// column is a figure of a row. A NULL is none.
type column struct {
	expr   string // in SQL
	metric string
	kind   metric.Kind
	scale  float64 // 0 is 1
}

// counters makes columns of counters that are called alike: prefix + name + suffix.
func counters(prefix, suffix string, names ...string) (all []column) {
	for _, n := range names {
		all = append(all, column{expr: n, metric: prefix + n + suffix, kind: metric.Counter})
	}
	return all
}

// gauges is the same for gauges.
func gauges(prefix, suffix string, names ...string) (all []column) {
	for _, n := range names {
		all = append(all, column{expr: n, metric: prefix + n + suffix})
	}
	return all
}

// since is a column with a time as Unix seconds.
func since(expr, name string) column {
	return column{expr: "extract(epoch FROM " + expr + ")", metric: name}
}

// milliseconds is the unit of the times in statistics views.
const milliseconds = 1e-3

// mostLabels bounds the label sets that a source keeps.
const mostLabels = 50_000

// reader reads a view.
type reader struct {
	view
	sql    string
	known  map[string]metric.Labels
	values []*float64 // of a row, as they are scanned
	texts  []string
}

// newReader prepares the reading of a view for a source.
func newReader(name source.Name, v view) *reader {
	r := &reader{
		view: v, known: map[string]metric.Labels{}, values: make([]*float64, len(v.columns)),
		texts: make([]string, len(v.labels)),
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, l := range v.labels {
		name, expr, has := strings.Cut(l, "=")
		if !has {
			expr = name
		}
		r.labels[i] = name
		b.WriteString("coalesce((" + expr + ")::text, ''), ")
	}
	for i, c := range v.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + c.expr + ")::float8")
	}
	if r.limit == 0 {
		r.limit = 1000
	}
	b.WriteString(" FROM " + v.from + " LIMIT " + strconv.Itoa(r.limit))
	r.sql = tagged(name, b.String())
	return r
}

// read asks and emits. It returns the number of rows.
func (r *reader) read(ctx context.Context, q querier, at int64, emit func(metric.Sample)) (int, error) {
	into := make([]any, 0, len(r.texts)+len(r.values))
	for i := range r.texts {
		into = append(into, &r.texts[i])
	}
	for i := range r.values {
		into = append(into, &r.values[i])
	}
	return q.Query(ctx, r.sql, func(rows pgx.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		ls := r.label()
		for i, c := range r.columns {
			v := r.values[i]
			if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
				continue
			}
			x := metric.Sample{Name: c.metric, Labels: ls, Kind: c.kind, At: at, Value: *v}
			if c.scale != 0 {
				x.Value *= c.scale
			}
			emit(x)
		}
		return nil
	})
}

// label returns the labels of the row that was read.
func (r *reader) label() metric.Labels {
	if len(r.texts) == 0 {
		return nil
	}
	key := strings.Join(r.texts, "\x00")
	ls, ok := r.known[key]
	if !ok {
		if len(r.known) >= mostLabels {
			clear(r.known)
		}
		pairs := make([]string, 0, 2*len(r.texts))
		for i, t := range r.texts {
			pairs = append(pairs, r.labels[i], clean(strings.Clone(t)))
		}
		ls = metric.L(pairs...)
		r.known[key] = ls
	}
	return ls
}

// viewSource is a source that reads views and does nothing else. missing may say why there is nothing to read.
type viewSource struct {
	name    source.Name
	q       querier
	facts   conn.Facts
	readers []*reader
	missing error
}

func newViews(name source.Name, q querier, f conn.Facts, views ...view) *viewSource {
	s := &viewSource{name: name, q: q, facts: f}
	for _, v := range views {
		s.readers = append(s.readers, newReader(name, v))
	}
	return s
}

func (s *viewSource) Name() source.Name { return s.name }

func (s *viewSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.missing != nil {
		return s.missing
	}
	for _, r := range s.readers {
		if _, err := r.read(ctx, s.q, at, emit); err != nil {
			return classify(s.facts, err)
		}
	}
	return nil
}
