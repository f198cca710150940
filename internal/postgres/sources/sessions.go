package sources

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// sessions reads pg_stat_activity in one statement: who is connected and with what, and the open transactions. Dyno's
// own sessions are left out of all of it, see conn.Target.Owns.
//
//	pg_stat_activity_count{datname,state}             sessions of clients now
//	pg_stat_activity_max_tx_duration{datname,state}   age of the oldest transaction, seconds
//	dyno_sessions, dyno_sessions_running              all of them, and those that run a statement
//	dyno_transactions{state}                          open now: "running", "lock_wait"
//	dyno_transaction_oldest_seconds                   age of the oldest, 0 for none
//
// Without pg_read_all_stats, which pg_monitor includes, the server shows what an account's own sessions do only, which
// would look like an idle server: that is reported as denied. So is track_activities=off, as missing.
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW
type sessions struct {
	q    owner
	acc  *conn.Target
	seen *moment
	sql  string
	// longest is the length at which the server cuts texts (track_activity_query_size less the end), bytes
	longest int
	cells   map[[2]string]*cell
	ids     map[string]string // class by statement, of the last round
	idle    int               // of clients, outside of transactions
	left    int               // not kept
}

// owner is a querier that knows Dyno's own sessions.
type owner interface {
	querier
	Target() *conn.Target
}

// moment is what the sessions were in a round, for the source of locks, which is read after them.
type moment struct {
	at       int64
	sessions []state.Session
	trx      []state.Transaction
	waiting  []int32 // pids of those that wait for a lock
	err      error   // why they are not known
}

// cell is a combination of labels with its figures.
type cell struct {
	labels        metric.Labels
	count, oldest float64
}

const (
	mostSessions = 5000
	mostLongest  = 8 << 10 // of texts that are read whole, bytes
	mostCells    = 1000
)

// sessionColumns are what is read of a session. The text of one that is idle is what it ran last. It is not cut here: a
// session of another database may use another encoding, and functions refuse what is not valid in this one's.
const sessionColumns = `pid, coalesce(datname, ''), coalesce(usename, ''), coalesce(application_name, ''),
 coalesce(host(client_addr), ''), coalesce(client_port, 0), coalesce(state, ''), coalesce(backend_type, ''),
 coalesce(wait_event_type, ''), coalesce(wait_event, ''),
 coalesce(extract(epoch FROM clock_timestamp() - xact_start), -1)::float8,
 greatest(coalesce(extract(epoch FROM clock_timestamp() - CASE state WHEN 'active' THEN query_start
  ELSE state_change END), 0), 0)::float8,
 coalesce(backend_xid::text, ''), coalesce(query, ''), coalesce(octet_length(query), 0)`

func newSessions(q owner, t *conn.Target, seen *moment) *sessions {
	const idle = "state = 'idle' AND xact_start IS NULL AND backend_type = 'client backend'"
	longest := 1023
	if v, ok := t.Setting("track_activity_query_size"); ok {
		if n, err := strconv.Atoi(v); err == nil {
			longest = n - 1
		}
	}
	columns := sessionColumns
	if longest > mostLongest {
		columns = strings.Replace(columns, "coalesce(query, '')", "coalesce(left(query, 2048), '')", 1)
	}
	return &sessions{
		q: q, acc: t, seen: seen, longest: longest, cells: map[[2]string]*cell{}, ids: map[string]string{},
		// The last row is there always: what the account may not see has no row at all.
		sql: tagged(source.Processlist, "SELECT true, 1, x.* FROM (SELECT "+columns+" FROM pg_stat_activity "+
			"WHERE pid <> pg_backend_pid() AND NOT coalesce("+idle+", false) AND "+
			"backend_type IN ('client backend', 'walsender', 'autovacuum worker') LIMIT "+strconv.Itoa(mostSessions)+
			") AS x UNION ALL SELECT true, count(*), 0, coalesce(datname, ''), coalesce(usename, ''), "+
			"coalesce(application_name, ''), coalesce(host(client_addr), ''), 0, 'idle', 'client backend', '', '', "+
			"-1, 0, '', '', 0 FROM pg_stat_activity WHERE "+idle+" GROUP BY 4, 5, 6, 7 UNION ALL SELECT "+
			"pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), 0, 0, '', '', '', '', 0, '', '', '', '', -1, 0, "+
			"'', '', 0"),
	}
}

func (s *sessions) Name() source.Name { return source.Processlist }

// row is a session, or several that are idle, as they are read.
type row struct {
	pid                                 int32
	db, user, app, addr, state, backend string
	waitType, wait, xid, query          string
	count, port, length                 int64
	transaction, seconds                float64
	may                                 bool
}

// into is where a row of sessionColumns is read to.
func (r *row) into() []any {
	return []any{
		&r.pid, &r.db, &r.user, &r.app, &r.addr, &r.port, &r.state, &r.backend, &r.waitType, &r.wait, &r.transaction,
		&r.seconds, &r.xid, &r.query, &r.length,
	}
}

func (s *sessions) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	err := s.scrape(ctx, at, emit)
	if s.seen.err = err; err != nil {
		s.seen.sessions, s.seen.trx, s.seen.waiting = nil, nil, nil
	}
	s.seen.at = at
	return err
}

func (s *sessions) scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	for _, c := range s.cells {
		c.count, c.oldest = 0, 0
	}
	may, off := true, false
	total, running, left, idle, oldest := 0.0, 0.0, 0, 0, 0.0
	ids := map[string]string{}
	var list []state.Session
	trx, waiting := []state.Transaction{}, []int32(nil)
	phases := map[string]float64{"running": 0, "lock_wait": 0}
	_, err := s.q.Query(ctx, s.sql, func(rows pgx.Rows) error {
		var r row
		if err := rows.Scan(append([]any{&r.may, &r.count}, r.into()...)...); err != nil {
			return err
		}
		may = may && r.may
		if s.acc.Owns(uint32(r.pid), r.app, r.user, r.addr) {
			return nil
		}
		client := r.backend == "client backend"
		if client {
			total += float64(r.count)
			off = off || r.state == "disabled"
			s.add(r)
		}
		if r.pid == 0 {
			idle += int(r.count)
			return nil
		}
		x := s.session(&r, ids)
		if client && x.Command == "Query" {
			running++
		}
		if len(list) == mostSessions-1 {
			left++
		} else {
			list = append(list, x)
		}
		if r.transaction >= 0 && r.backend != "walsender" {
			t := state.Transaction{
				Session: x.ID, ID: r.xid, Phase: "RUNNING", Seconds: r.transaction, ReadOnly: r.xid == "",
			}
			phase := "running"
			if r.waitType == "Lock" {
				t.Phase, phase = "LOCK WAIT", "lock_wait"
			}
			phases[phase]++
			oldest = max(oldest, t.Seconds)
			trx = append(trx, t)
		}
		if r.waitType == "Lock" {
			waiting = append(waiting, r.pid)
		}
		return nil
	})
	if err != nil {
		return classify(s.acc.Facts(), err)
	}
	if !may {
		return denied(s.acc.Facts(), "without pg_monitor the server shows an account what its own sessions do only")
	}
	s.ids, s.left, s.idle = ids, left, idle
	s.seen.sessions, s.seen.trx, s.seen.waiting = list, trx, waiting
	for _, c := range s.cells {
		emit(metric.Sample{Name: "pg_stat_activity_count", Labels: c.labels, At: at, Value: c.count})
		emit(metric.Sample{Name: "pg_stat_activity_max_tx_duration", Labels: c.labels, At: at, Value: c.oldest})
	}
	emit(metric.Sample{Name: "dyno_sessions", At: at, Value: total})
	if off { // who runs what is not known
		return &scrape.Problem{
			State: source.Missing, Reason: "track_activities is off: the server does not say what sessions do",
			Fix: "ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf()", Partial: true,
		}
	}
	emit(metric.Sample{Name: "dyno_sessions_running", At: at, Value: running})
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		emit(metric.Sample{
			Name: "dyno_transactions", Labels: metric.L("state", phase), At: at, Value: phases[phase],
		})
	}
	emit(metric.Sample{Name: "dyno_transaction_oldest_seconds", At: at, Value: oldest})
	return nil
}

// add counts sessions. A combination that was seen once is shown with 0 later, so that it does not seem to go on.
func (s *sessions) add(r row) {
	k := [2]string{r.db, r.state}
	c, ok := s.cells[k]
	if !ok {
		if len(s.cells) >= mostCells {
			return
		}
		c = &cell{labels: metric.L("datname", clean(r.db), "state", r.state)}
		s.cells[k] = c
	}
	c.count += float64(r.count)
	c.oldest = max(c.oldest, r.transaction)
}

// secret finds statements whose text may hold a password or a key.
var secret = lazyregexp.New(`(?i)password|secret|pgp_sym|crypt\s*\(|dblink|user\s+mapping|conninfo|connection\s*'`)

// session makes a session of a row. In its words the command is that of all families, "Query" and "Sleep", and the
// phase what the server says: what is waited for, or "idle in transaction".
func (s *sessions) session(r *row, ids map[string]string) state.Session {
	x := state.Session{
		ID: uint64(r.pid), User: clean(r.user), Host: clean(r.addr), DB: clean(r.db), Command: "Query",
		Seconds: r.seconds,
	}
	if r.addr != "" && r.port > 0 {
		x.Host += ":" + strconv.FormatInt(r.port, 10)
	} else if r.backend == "client backend" {
		x.Host = "[local]"
	}
	if r.waitType != "" && r.waitType != "Client" {
		x.Phase = r.waitType + ": " + r.wait
		x.Wait = r.waitType + "/" + r.wait
	}
	text := strings.ToValidUTF8(r.query, "?")
	cut := r.length >= int64(s.longest) || len(r.query) >= state.MaxText
	class := ""
	if text != "" {
		class = s.class(text, cut, ids)
	}
	if secret.MatchString(text) {
		text = pgtext.Fingerprint(text)
	}
	text = state.Clip(text, state.MaxText)
	switch {
	case r.backend != "client backend":
		x.Command, x.SQL = "Daemon", text
		x.Phase = strings.TrimSuffix(r.backend+", "+x.Phase, ", ")
	case strings.HasPrefix(r.state, "idle"):
		x.Command, x.Phase, x.Last, x.LastClass = "Sleep", r.state, text, class
	default:
		x.SQL, x.ClassID = text, class
	}
	return x
}

// class returns the id of the class of a statement, "" where its text was cut.
func (s *sessions) class(text string, cut bool, ids map[string]string) string {
	if cut {
		return ""
	}
	id, ok := s.ids[text]
	if !ok {
		id = class.ID(pgtext.Fingerprint(text))
	}
	ids[text] = id
	return id
}

// Fill adds the sessions and how many there are, and the open transactions.
func (s *sessions) Fill(st *state.State) {
	if s.seen.err != nil && s.seen.sessions == nil {
		return
	}
	st.Sessions, st.Transactions = s.seen.sessions, s.seen.trx
	st.Left.Sessions += s.left
	n := s.idle + s.left
	for _, x := range s.seen.sessions {
		if x.Command != "Daemon" {
			n++
		}
	}
	st.Connections, st.Idle = known.Of(n), known.Of(s.idle)
}
