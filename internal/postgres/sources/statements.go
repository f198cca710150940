package sources

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// statements sums up pg_stat_statements, in all databases:
//
//	dyno_client_statements_total        statements that were executed, without this scraper's own, to
//	within the one or two that end while this is read
//	pg_stat_statements_calls_total      all of them
//	pg_stat_statements_seconds_total    their time of execution
//	pg_stat_statements_rows_total       rows that they returned or changed
//
// They count from the first reading on. A round in which the server dropped entries (pg_stat_statements.max) or reset
// them has no sample, because what the dropped ones had counted is not known; pg_stat_statements_dropped_total counts
// these entries. Statements of functions are not in them unless pg_stat_statements.track is all; what other parts and
// processes of Dyno do is: the view has no session or program. Its texts are not read.
// https://www.postgresql.org/docs/current/pgstatstatements.html
type statements struct {
	q     finder
	own   func() uint64 // statements of this scraper's
	t     *conn.Target
	sql   string
	gen   int
	st    conn.Statements // as the connection sees it
	seen  bool
	info  [2]float64 // entries dropped, time of the last reset
	last  [4]float64
	total [4]float64
	told  [4]float64 // the same, which never falls
}

// statementSeries are made of: calls without own ones, calls, time, rows.
var statementSeries = [4]string{
	"dyno_client_statements_total", "pg_stat_statements_calls_total", "pg_stat_statements_seconds_total",
	"pg_stat_statements_rows_total",
}

// finder is a querier that can look for the extension again.
type finder interface {
	querier
	Statements(ctx context.Context) (conn.Statements, error)
}

func newStatements(q finder, t *conn.Target, own func() uint64) *statements {
	return &statements{q: q, own: own, t: t, st: t.Facts().Statements}
}

func (s *statements) Name() source.Name { return source.StatementTotals }

func (s *statements) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if !s.st.Usable() { // it may have been created meanwhile
		st, err := s.q.Statements(ctx)
		if err != nil {
			return classify(s.t.Facts(), err)
		}
		s.st = st
	}
	if !s.st.Usable() {
		return &scrape.Problem{State: source.Missing, Reason: s.st.Missing, Fix: s.st.Fix}
	}
	if s.sql == "" {
		view := conn.Quote(s.st.Schema, "pg_stat_statements")
		info := conn.Quote(s.st.Schema, "pg_stat_statements_info")
		s.sql = tagged(s.Name(), "SELECT coalesce(current_setting('pg_stat_statements.track', true), ''), "+
			"dealloc::float8, extract(epoch FROM stats_reset)::float8, x.* FROM "+info+", (SELECT "+
			"coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time) / 1000, 0)::float8, "+
			"coalesce(sum(rows), 0)::float8 FROM "+view+"(false)) AS x")
	}
	var info [2]float64
	var now [4]float64
	var track string
	own := float64(s.own())
	_, err := s.q.Query(ctx, s.sql, func(r pgx.Rows) error {
		return r.Scan(&track, &info[0], &info[1], &now[1], &now[2], &now[3])
	})
	now[0] = now[1] - own
	if err != nil {
		s.seen = false
		return classify(s.t.Facts(), err)
	}
	if track == "none" {
		s.seen = false
		return &scrape.Problem{
			State: source.Missing, Reason: "pg_stat_statements.track is none: no statement is counted",
			Fix: "ALTER SYSTEM SET pg_stat_statements.track = top; SELECT pg_reload_conf()",
		}
	}
	emit(metric.Sample{Name: "pg_stat_statements_dropped_total", Kind: metric.Counter, At: at, Value: info[0]})
	whole := s.seen && info == s.info && s.gen == s.q.Generation() && now[1] >= s.last[1]
	first := !s.seen
	for i, name := range statementSeries {
		if whole {
			s.total[i] += now[i] - s.last[i]
			s.told[i] = max(s.told[i], s.total[i])
		}
		if whole || first {
			emit(metric.Sample{Name: name, Kind: metric.Counter, At: at, Value: s.told[i]})
		}
	}
	s.seen, s.info, s.last, s.gen = true, info, now, s.q.Generation()
	return nil
}
