package sources

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// locks says who waits for whose lock:
//
//	dyno_lock_waiters{kind}            sessions that wait now
//	dyno_lock_waiters_unexplained      those of them whose blocker the server does not show
//	dyno_row_lock_waiters              those that wait for a row
//
// It asks (pg_blocking_pids, pg_locks) only when the sessions of the same round show one that waits, because the answer
// holds up the lock manager for a moment. The table of a row that is waited for is known where the waiter is the next
// one for it, and names of relations in the database that the target names.
// https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SESSION-TABLE
type locks struct {
	q     owner
	acc   *conn.Target
	seen  *moment
	sql   string
	more  string
	kinds map[state.WaitKind]metric.Labels
	waits []state.Wait
	extra []state.Session // blockers that are no part of the sessions: idle ones that hold a lock all the same
	s     *sessions
}

const (
	// mostWaiting bounds the sessions that are asked about in a round.
	mostWaiting = 200
	waitLimit   = 2 * state.MaxWaits
)

func newLocks(q owner, t *conn.Target, seen *moment, s *sessions) *locks {
	k := map[state.WaitKind]metric.Labels{}
	for _, kind := range []state.WaitKind{state.RowLock, state.TableLock, state.MetadataLock, state.UserLock} {
		k[kind] = metric.L("kind", string(kind))
	}
	return &locks{
		q: q, acc: t, seen: seen, kinds: k, s: s,
		sql: tagged(source.Locks, `SELECT w.pid, b.pid, coalesce(l.locktype, ''), coalesce(l.mode, ''),
 coalesce(extract(epoch FROM clock_timestamp() - l.waitstart), -1)::float8,
 coalesce((SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = coalesce(l.relation, r.relation) AND coalesce(nullif(l.database, 0), r.database) =
  (SELECT oid FROM pg_database WHERE datname = current_database())), ''),
 coalesce((SELECT string_agg(DISTINCT h.mode, ', ') FROM pg_locks h WHERE h.pid = b.pid AND h.granted AND
  (h.locktype, h.database, h.relation, h.page, h.tuple, h.virtualxid, h.transactionid, h.classid, h.objid, h.objsubid)
  IS NOT DISTINCT FROM
  (l.locktype, l.database, l.relation, l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid,
   l.objsubid)), '')
 FROM unnest($1::int4[]) AS w(pid)
 LEFT JOIN LATERAL (SELECT * FROM pg_locks x WHERE x.pid = w.pid AND NOT x.granted LIMIT 1) l ON true
 LEFT JOIN LATERAL (SELECT x.relation, x.database FROM pg_locks x WHERE x.pid = w.pid AND x.granted AND
  x.locktype = 'tuple' LIMIT 1) r ON true
 LEFT JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(w.pid)) AS pid) b ON true LIMIT 1000`),
		more: tagged(source.Locks, "SELECT "+sessionColumns+" FROM pg_stat_activity WHERE pid = ANY($1::int4[])"),
	}
}

func (s *locks) Name() source.Name { return source.Locks }

func (s *locks) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	s.waits, s.extra = nil, nil
	if s.seen.at != at { // the sessions were not read in this round, so nobody is seen to wait
		return nil
	}
	if s.seen.err != nil {
		return s.seen.err
	}
	if waiting := s.seen.waiting; len(waiting) > 0 {
		if err := s.ask(ctx, waiting[:min(len(waiting), mostWaiting)]); err != nil {
			s.waits = nil
			return classify(s.acc.Facts(), err)
		}
	}
	waiters, blind := map[state.WaitKind]map[uint64]bool{}, map[uint64]bool{}
	for _, w := range s.waits {
		if waiters[w.Kind] == nil {
			waiters[w.Kind] = map[uint64]bool{}
		}
		waiters[w.Kind][w.Waiter] = true
		if !w.Blocker.OK() {
			blind[w.Waiter] = true
		}
	}
	for kind, l := range s.kinds {
		emit(metric.Sample{Name: "dyno_lock_waiters", Labels: l, At: at, Value: float64(len(waiters[kind]))})
	}
	emit(metric.Sample{Name: "dyno_lock_waiters_unexplained", At: at, Value: float64(len(blind))})
	emit(metric.Sample{Name: "dyno_row_lock_waiters", At: at, Value: float64(len(waiters[state.RowLock]))})
	return nil
}

// ask fills the waits.
func (s *locks) ask(ctx context.Context, waiting []int32) error {
	var missing []int32
	_, err := s.q.Query(ctx, s.sql, func(rows pgx.Rows) error {
		var waiter int32
		var blocker *int32
		var kind string
		var w state.Wait
		var sec float64
		if err := rows.Scan(&waiter, &blocker, &kind, &w.Mode, &sec, &w.Object, &w.Held); err != nil {
			return err
		}
		if kind == "" || len(s.waits) >= waitLimit { // it waits no more
			return nil
		}
		w.Waiter, w.Kind, w.Object = uint64(waiter), waitKind(kind), clean(w.Object)
		if sec >= 0 {
			w.Seconds = known.Of(sec)
		}
		switch {
		case blocker == nil:
			w.Why = "the server shows no session that holds this lock: it may have been given at this moment"
		case *blocker == 0:
			w.Why = "a prepared transaction holds it: pg_prepared_xacts lists them; COMMIT PREPARED or ROLLBACK " +
				"PREPARED ends one"
		default:
			w.Blocker = known.Of(uint64(*blocker))
			shown := func(x state.Session) bool { return x.ID == uint64(*blocker) }
			if !slices.ContainsFunc(s.seen.sessions, shown) && !slices.Contains(missing, *blocker) {
				missing = append(missing, *blocker)
			}
		}
		s.waits = append(s.waits, w)
		return nil
	}, waiting)
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = s.q.Query(ctx, s.more, func(rows pgx.Rows) error {
		var r row
		if err := rows.Scan(r.into()...); err != nil {
			return err
		}
		s.extra = append(s.extra, s.s.session(&r, map[string]string{}))
		return nil
	}, missing)
	return err
}

// waitKind sorts the types of locks into the kinds of all families. A lock on a relation conflicts only with one that
// DDL, VACUUM FULL or LOCK TABLE wants or holds; CREATE INDEX CONCURRENTLY waits for virtual transactions.
// https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LOCK-TABLE
func waitKind(locktype string) state.WaitKind {
	switch locktype {
	case "transactionid", "tuple", "spectoken":
		return state.RowLock
	case "relation", "virtualxid", "object":
		return state.MetadataLock
	case "advisory", "userlock":
		return state.UserLock
	}
	return state.TableLock
}

// Fill adds the waits, and of the sessions that others wait for those that are idle outside of a transaction: they hold
// an advisory lock.
func (s *locks) Fill(st *state.State) {
	st.Waits = s.waits
	if len(s.extra) > 0 {
		st.Sessions = append(slices.Clone(st.Sessions), s.extra...)
	}
}
