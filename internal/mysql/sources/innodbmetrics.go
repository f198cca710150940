package sources

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/source"
)

// innodbMetrics reads the counters of information_schema.INNODB_METRICS that are switched on; it needs PROCESS. Names
// are mysql_info_schema_innodb_metrics_<subsystem>_<name>, with _total at the end of counters, or what mysqld_exporter
// makes of some of them, see innodbSeries.
//
// What a counter belongs to is asked once and remembered, each reading then transfers names and counts alone.
type innodbMetrics struct {
	q     querier
	acc   account
	meta  string // statement for names with subsystem and type
	read  string
	gen   int
	known map[string]series
	seen  *moment
}

func newInnodbMetrics(q querier, acc account, seen *moment) *innodbMetrics {
	return &innodbMetrics{q: q, acc: acc, seen: seen}
}

func (s *innodbMetrics) Name() source.Name { return figures.InnodbMetrics }

func (s *innodbMetrics) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	const privilege = "PROCESS ON *.*"
	s.seen.deadlocks = known.None[uint64]()
	if s.known == nil || s.gen != s.q.Generation() {
		if err := s.learn(ctx); err != nil {
			return classify(s.acc, err, privilege)
		}
		s.gen = s.q.Generation()
	}
	unheard := false
	_, err := s.q.Query(ctx, s.read, func(row []driver.Value) {
		if len(row) != 2 {
			return
		}
		name := text(row[0])
		if string(name) == "lock_deadlocks" {
			s.seen.deadlocks, s.seen.deadlocksGen, s.seen.deadlocksAt = whole(row[1]), s.q.Generation(), at
		}
		k, ok := s.known[string(name)]
		if !ok {
			unheard = true
			return
		}
		if v, ok := number(row[1]); ok && (v >= 0 || k.kind == metric.Gauge) {
			emit(metric.Sample{Name: k.name, Labels: k.labels, Kind: k.kind, At: at, Value: v})
		}
	})
	if err != nil || unheard { // somebody switched a counter on: learn about it in the next round
		s.known = nil
	}
	return classify(s.acc, err, privilege)
}

// learn asks which counters are on and what each of them is.
func (s *innodbMetrics) learn(ctx context.Context) error {
	enabled, err := enabledColumn(func(sql string, row func([]driver.Value)) error {
		_, err := s.q.Query(ctx, sql, row)
		return err
	})
	if err != nil {
		return err
	}
	s.meta = tagged(s.Name(), "SELECT NAME, SUBSYSTEM, TYPE FROM information_schema.INNODB_METRICS "+
		"WHERE "+enabled)
	s.read = tagged(s.Name(), "SELECT NAME, `COUNT` FROM information_schema.INNODB_METRICS WHERE "+
		enabled)
	all := map[string]series{}
	if _, err := s.q.Query(ctx, s.meta, func(row []driver.Value) {
		name, sub, typ := text(row[0]), text(row[1]), string(text(row[2]))
		k := series{name: metricName(metricName("", sub)+"_", name), kind: innodbKind(string(name), typ)}
		if k.kind == metric.Counter {
			k.name += "_total"
		}
		k.name, k.labels = innodbSeries(k.name)
		if len(all) < 5000 { // as in Read
			all[string(name)] = k
		}
	}); err != nil {
		return err
	}
	s.known = all
	return nil
}

// innodbKind reads the type of a counter. "value" is a state. status_counter are copies of status variables, of which
// some are states all the same, as some values of MariaDB are counters. The members of a set count what its owner did,
// but for those of the last call.
func innodbKind(name, typ string) metric.Kind {
	switch {
	case innodbCounters[name]:
		return metric.Counter
	case typ == "value", innodbGauges[name], strings.HasSuffix(name, "_per_call"):
		return metric.Gauge
	}
	return metric.Counter
}

var innodbGauges = set(`
lock_row_lock_current_waits lock_row_lock_time_avg lock_row_lock_time_max lock_rec_locks lock_table_locks
metadata_table_reference_count trx_active_transactions ibuf_size os_pending_reads os_pending_writes
os_log_pending_fsyncs os_log_pending_writes log_pending_log_flushes log_pending_checkpoint_writes log_pending_log_writes
buffer_pool_bytes_dirty buffer_flush_adaptive_avg_time_est buffer_flush_adaptive_avg_time_slot buffer_flush_adaptive_avg_time_thread
buffer_flush_n_to_flush_requested buffer_flush_n_to_flush_by_age buffer_flush_avg_page_rate buffer_flush_lsn_avg_rate
buffer_flush_pct_for_dirty buffer_flush_pct_for_lsn
innodb_page_size cpu_n
`)

var innodbCounters = set("lock_deadlocks lock_timeouts log_checkpoints purge_stop_count purge_resume_count")

// enabledColumn words the condition that a counter is on: MySQL has STATUS='enabled', MariaDB from 10.8.4 on ENABLED=1.
func enabledColumn(query func(sql string, row func([]driver.Value)) error) (where string, err error) {
	where = "STATUS='enabled'"
	err = query(tagged(figures.InnodbMetrics, "SELECT COLUMN_NAME FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='INNODB_METRICS'"), func(row []driver.Value) {
		if strings.EqualFold(string(text(row[0])), "ENABLED") {
			where = "ENABLED=1"
		}
	})
	return where, err
}
