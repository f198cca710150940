package sources

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// replication reads streaming replication from both ends. What a standby says of itself, in words that all families
// share, its only channel being "":
//
//	pg_replication_is_replica                  1 or 0
//	dyno_replica_channels                      1
//	dyno_replica_running{channel,thread="io"}  1 while it receives from its primary (pg_stat_wal_receiver)
//	dyno_replica_running{channel,thread="sql"} 0 while the replay is paused
//	dyno_replica_unapplied_bytes{channel}      received and not replayed
//	dyno_replica_lag_seconds{channel}          0 when all that was received is replayed, else since the commit on the
//	primary that was replayed last; missing while it does not receive, because what it lacks then is not known here
//	pg_replication_lag_seconds                 the same, by postgres_exporter's name
//
// What a primary says of each standby, {application_name,client_addr,state}: pg_stat_replication_pg_wal_lsn_diff, bytes
// that are not replayed there, and pg_stat_replication_write_lag_seconds, _flush_lag_seconds, _replay_lag_seconds; and
// of each slot, {slot_name,slot_type,database}: pg_replication_slots_active and pg_replication_slots_pg_wal_lsn_diff,
// bytes of log that are kept for it.
//
// It needs pg_monitor: to others the views show rows without figures, and that is reported as denied.
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-REPLICATION-VIEW
type replication struct {
	q                querier
	facts            conn.Facts
	sql              string
	standbys, slots  *reader
	io, apply, whole metric.Labels
}

// position is how far the log has come: written on a primary, replayed on a standby.
const position = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END"

func newReplication(q querier, f conn.Facts) *replication {
	lag := func(c string) column { return since(c+"_lag", "pg_stat_replication_"+c+"_lag_seconds") }
	return &replication{
		q: q, facts: f,
		sql: tagged(source.Replication, "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), "+
			"pg_is_in_recovery(), coalesce((SELECT status = 'streaming' FROM pg_stat_wal_receiver), false), "+
			"CASE WHEN pg_is_in_recovery() THEN pg_get_wal_replay_pause_state() <> 'not paused' ELSE false END, "+
			"pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::float8, "+
			"extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8"),
		standbys: newReader(source.Replication, view{
			from: "pg_stat_replication", labels: []string{"application_name", "client_addr=host(client_addr)", "state"},
			columns: []column{
				{
					expr:   "pg_wal_lsn_diff(" + position + ", replay_lsn)",
					metric: "pg_stat_replication_pg_wal_lsn_diff",
				},
				lag("write"), lag("flush"), lag("replay"),
			},
		}),
		slots: newReader(source.Replication, view{
			from: "pg_replication_slots", labels: []string{"slot_name", "slot_type", "database"},
			columns: []column{
				{expr: "active::int", metric: "pg_replication_slots_active"},
				{
					expr:   "pg_wal_lsn_diff(" + position + ", restart_lsn)",
					metric: "pg_replication_slots_pg_wal_lsn_diff",
				},
			},
		}),
		io:    metric.L("channel", "", "thread", "io"),
		apply: metric.L("channel", "", "thread", "sql"),
		whole: metric.L("channel", ""),
	}
}

func (s *replication) Name() source.Name { return source.Replication }

func (s *replication) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	var may, standby, receives, paused bool
	var behind, age *float64
	_, err := s.q.Query(ctx, s.sql, func(r pgx.Rows) error {
		return r.Scan(&may, &standby, &receives, &paused, &behind, &age)
	})
	if err != nil {
		return classify(s.facts, err)
	}
	if !may {
		return denied(s.facts, "without pg_monitor the server does not show how far its standbys are")
	}
	put := func(name string, ls metric.Labels, v float64) {
		emit(metric.Sample{Name: name, Labels: ls, At: at, Value: v})
	}
	put("pg_replication_is_replica", nil, number(standby))
	if standby {
		put("dyno_replica_channels", nil, 1)
		put("dyno_replica_running", s.io, number(receives))
		put("dyno_replica_running", s.apply, number(!paused))
		if behind != nil {
			put("dyno_replica_unapplied_bytes", s.whole, max(0, *behind))
		}
		lag := age
		if behind != nil && *behind <= 0 {
			lag = new(float64)
		}
		if receives && lag != nil {
			put("dyno_replica_lag_seconds", s.whole, max(0, *lag))
			put("pg_replication_lag_seconds", nil, max(0, *lag))
		}
	}
	for _, r := range []*reader{s.standbys, s.slots} {
		if _, err := r.read(ctx, s.q, at, emit); err != nil {
			return classify(s.facts, err)
		}
	}
	return nil
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
