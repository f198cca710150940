package sources

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// database reads pg_stat_database, which every account may: pg_stat_database_<column>{datid,datname}, times in
// milliseconds, and of the server
//
//	pg_postmaster_start_time_seconds, dyno_uptime_seconds   by the server's clock
//	dyno_client_transactions_total    commits and rollbacks in all databases, without this scraper's own
//	dyno_rows_read_total              tup_returned of all databases: rows that scans read, and entries of indexes
//
// The last two count from the first reading on. A round in which the server was restarted, or the figures of a database
// went (DROP DATABASE, pg_stat_reset), has no sample of them: what these had counted since is not known.
//
// Of the other figures Dyno's own part is not known, and in them: about a row for each row that a source reads, and a
// backend or two. What other processes of Dyno do is in all of them. The view's figures come up to a second late from
// sessions that are busy (PGSTAT_MIN_INTERVAL).
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW
//
// It also notices restarts, and that deadlocks were counted: what they were is in the server's log alone.
type database struct {
	q     flusher
	own   func() uint64 // transactions of this scraper that the server has surely counted
	facts conn.Facts
	view  *reader
	sum   string

	seen    bool
	last    totals     // of the round before
	total   [2]float64 // what dyno_client_transactions_total and dyno_rows_read_total count
	told    float64    // the first of them, which never falls
	started float64
	uptime  float64
	news    []event.Event

	lastAt int64 // of the round before, Unix milliseconds
	missed []lock.Missed
}

// totals are sums over the databases, and what shows that they lost some of what they had.
type totals struct {
	transactions, rows   float64 // transactions without this scraper's own
	sum                  float64 // with them
	deadlocks            float64
	started, reset, many float64 // Unix seconds of the server's start and of the last reset; databases
}

// after reports whether nothing that b has counted is missing in a.
func (a totals) after(b totals) bool {
	return a.started == b.started && a.reset == b.reset && a.many >= b.many && a.sum >= b.sum && a.rows >= b.rows &&
		a.deadlocks >= b.deadlocks
}

// flusher is a querier that can have the server count what it did.
type flusher interface {
	querier
	flush(ctx context.Context) error
}

// countedLate is how late a session that goes idle counts what it did: PGSTAT_IDLE_INTERVAL.
const countedLate = 10 * time.Second

// mostDatabases bounds the rows of the view: beyond it always the same ones are left out, which is said.
const mostDatabases = 1000

func newDatabase(q flusher, own func() uint64, f conn.Facts, most int) *database {
	const prefix = "pg_stat_database_"
	cols := counters(prefix, "", "xact_commit", "xact_rollback", "blks_read", "blks_hit", "tup_returned", "tup_fetched",
		"tup_inserted", "tup_updated", "tup_deleted", "conflicts", "temp_files", "temp_bytes", "deadlocks",
		"checksum_failures", "blk_read_time", "blk_write_time", "session_time", "active_time",
		"idle_in_transaction_time", "sessions", "sessions_abandoned", "sessions_fatal", "sessions_killed")
	if f.AtLeast(18) {
		cols = append(cols, counters(prefix, "", "parallel_workers_to_launch", "parallel_workers_launched")...)
	}
	cols = append(cols, column{expr: "numbackends", metric: prefix + "numbackends"},
		since("stats_reset", prefix+"stats_reset"))
	return &database{
		q: q, own: own, facts: f,
		view: newReader(source.Database, view{
			from: "pg_stat_database ORDER BY datid", labels: []string{"datid", "datname"}, columns: cols, limit: most,
		}),
		sum: tagged(source.Database, "SELECT sum(xact_commit + xact_rollback)::float8, sum(tup_returned)::float8, "+
			"extract(epoch FROM pg_postmaster_start_time())::float8, "+
			"extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8, "+
			"coalesce(extract(epoch FROM max(stats_reset)), 0)::float8, count(*)::float8, sum(deadlocks)::float8 "+
			"FROM pg_stat_database"),
	}
}

func (s *database) Name() source.Name { return source.Database }

func (s *database) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if err := s.q.flush(ctx); err != nil {
		return classify(s.facts, err)
	}
	own := float64(s.own())
	var now totals
	var uptime float64
	if _, err := s.q.Query(ctx, s.sum, func(r pgx.Rows) error {
		return r.Scan(&now.sum, &now.rows, &now.started, &uptime, &now.reset, &now.many, &now.deadlocks)
	}); err != nil {
		return classify(s.facts, err)
	}
	now.transactions = now.sum - own
	complete := s.seen && now.after(s.last)
	if complete {
		s.total[0] += now.transactions - s.last.transactions
		s.total[1] += now.rows - s.last.rows
		s.told = max(s.told, s.total[0])
		if n := now.deadlocks - s.last.deadlocks; n > 0 {
			s.missed = append(s.missed, lock.Missed{
				From: time.UnixMilli(s.lastAt).Add(-countedLate), To: time.UnixMilli(at), Count: uint64(n),
				Why: "PostgreSQL reports deadlocks in its log only, which is not read",
			})
		}
	}
	if complete || !s.seen {
		emit(metric.Sample{Name: "dyno_client_transactions_total", Kind: metric.Counter, At: at, Value: s.told})
		emit(metric.Sample{Name: metric.RowsReadTotal, Kind: metric.Counter, At: at, Value: s.total[1]})
	}
	s.seen, s.last, s.lastAt = true, now, at
	started := now.started
	emit(metric.Sample{Name: "pg_postmaster_start_time_seconds", At: at, Value: started})
	emit(metric.Sample{Name: "dyno_uptime_seconds", At: at, Value: uptime})
	if s.started != 0 && started != s.started {
		s.news = append(s.news, event.Event{
			At: time.UnixMilli(at).Add(-time.Duration(uptime * float64(time.Second))).UTC(), Kind: event.Restart,
			Text: "the server started again; it had been up for " +
				time.Duration(s.uptime*float64(time.Second)).Truncate(time.Second).String(),
		})
	}
	s.started, s.uptime = started, uptime
	n, err := s.view.read(ctx, s.q, at, emit)
	if left := int(now.many) - n; err == nil && n >= s.view.limit && left > 0 {
		return &scrape.Problem{
			State: source.Failed, Partial: true,
			Reason: fmt.Sprintf("the server has more than %d databases: the figures are without %d of them, the newest",
				n, left),
		}
	}
	return classify(s.facts, err)
}

// Deadlocks returns those counted since the last call.
func (s *database) Deadlocks() lock.Seen {
	seen := lock.Seen{Missed: s.missed}
	s.missed = nil
	return seen
}

// Events returns the restarts since the last call.
func (s *database) Events() []event.Event {
	e := s.news
	s.news = nil
	return e
}
