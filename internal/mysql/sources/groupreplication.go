package sources

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// groupReplication reads MySQL's group as this member sees it. The names are mysqld_exporter's:
//
//	mysql_perf_schema_replication_group_member_info{channel_name,member_id,member_host,member_port,member_state,
//	    member_role,member_version} 1
//	mysql_perf_schema_transactions_in_queue and others of this member, see its columns
//
// and dyno_group_members{state} counts them: online, recovering, offline, error, unreachable. A server that is in no
// group has none and is asked every ten seconds.
type groupReplication struct {
	q       querier
	acc     account
	gen     int
	members string
	keys    []string
	stats   *summary
	labels  map[string]metric.Labels
	next    int64
}

func newGroupReplication(q querier, acc account) *groupReplication {
	const p = "mysql_perf_schema_transactions_"
	return &groupReplication{q: q, acc: acc, labels: map[string]metric.Labels{}, stats: &summary{
		q: q, acc: acc,
		name: source.GroupReplication, grant: pfsPrivilege, pfs: true, tables: []table{{
			schema: "performance_schema", name: "replication_group_member_stats",
			columns: []column{
				{"COUNT_TRANSACTIONS_IN_QUEUE", p + "in_queue", metric.Gauge, 0, ""},
				{"COUNT_TRANSACTIONS_CHECKED", p + "checked_total", metric.Counter, 0, ""},
				{"COUNT_CONFLICTS_DETECTED", "mysql_perf_schema_conflicts_detected_total", metric.Counter, 0, ""},
				{"COUNT_TRANSACTIONS_ROWS_VALIDATING", p + "rows_validating_total", metric.Counter, 0, ""},
				{"COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE", p + "remote_in_applier_queue", metric.Gauge, 0, ""},
				{"COUNT_TRANSACTIONS_REMOTE_APPLIED", p + "remote_applied_total", metric.Counter, 0, ""},
				{"COUNT_TRANSACTIONS_LOCAL_PROPOSED", p + "local_proposed_total", metric.Counter, 0, ""},
				{"COUNT_TRANSACTIONS_LOCAL_ROLLBACK", p + "local_rollback_total", metric.Counter, 0, ""},
			},
			where: "MEMBER_ID=@@server_uuid",
		}},
	}}
}

func (s *groupReplication) Name() source.Name { return source.GroupReplication }

func (s *groupReplication) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.gen != s.q.Generation() {
		s.members, s.next = "", 0
	}
	if at < s.next {
		return nil
	}
	if s.members == "" {
		known, err := s.learn(ctx)
		if err != nil {
			return classify(s.acc, err, pfsPrivilege)
		}
		s.gen = s.q.Generation()
		if !known { // nothing is wrong with a server that knows no groups
			s.next = at + idleAsk
			return nil
		}
	}
	states := map[string]float64{"online": 0, "recovering": 0, "offline": 0, "error": 0, "unreachable": 0}
	n := 0
	_, err := s.q.Query(ctx, s.members, func(row []driver.Value) {
		if n == mostMembers {
			return
		}
		vals := make([]string, len(row))
		for i, v := range row {
			vals[i] = strings.ToValidUTF8(string(text(v)), "?")
		}
		l, state := s.member(vals)
		if l.Get("member_id") == "" { // the server alone, in no group
			return
		}
		n++
		states[state]++
		emit(metric.Sample{Name: "mysql_perf_schema_replication_group_member_info", Labels: l, At: at, Value: 1})
	})
	if err != nil {
		s.members = ""
		return classify(s.acc, err, pfsPrivilege)
	}
	if n == 0 {
		s.next = at + idleAsk
		return nil
	}
	for _, state := range sortedKeys(states) {
		emit(metric.Sample{Name: "dyno_group_members", Labels: s.label("state", state), At: at, Value: states[state]})
	}
	return s.stats.Scrape(ctx, at, emit)
}

// mostMembers bounds the members that are told of; a group has nine at most.
const mostMembers = 100

// learn finds out what the server tells of members; not known when it has no group replication, or performance_schema
// is off.
func (s *groupReplication) learn(ctx context.Context) (known bool, err error) {
	err = pfsOn(ctx, s.q, s.Name())
	if p := (*scrape.Problem)(nil); errors.As(err, &p) && p.State == source.Missing {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const name = "replication_group_members"
	have, err := columnsOf(ctx, s.q, s.Name(), []table{{schema: "performance_schema", name: name}})
	if err != nil {
		return false, err
	}
	cols := have["performance_schema."+name]
	s.keys = s.keys[:0]
	for _, c := range []string{
		"CHANNEL_NAME", "MEMBER_ID", "MEMBER_HOST", "MEMBER_PORT", "MEMBER_STATE",
		"MEMBER_ROLE", "MEMBER_VERSION",
	} {
		if cols[c] {
			s.keys = append(s.keys, c)
		}
	}
	if len(s.keys) == 0 {
		// Not there, or not shown to this account.
		_, err := s.q.Query(ctx, tagged(s.Name(), "SELECT 1 FROM performance_schema."+name+
			" LIMIT 1"), func([]driver.Value) {})
		if n, _ := target.ServerErrorNumber(err); n == 1146 {
			return false, nil
		}
		return false, err
	}
	s.members = tagged(s.Name(), "SELECT "+strings.Join(s.keys, ", ")+" FROM performance_schema."+
		name+" LIMIT "+strconv.Itoa(mostMembers))
	return true, nil
}

// member makes the labels of a member, and its state in small letters.
func (s *groupReplication) member(vals []string) (l metric.Labels, state string) {
	var pairs []string
	for i, k := range s.keys {
		pairs = append(pairs, strings.ToLower(k), vals[i])
		if k == "MEMBER_STATE" {
			state = strings.ToLower(vals[i])
		}
	}
	return s.label(pairs...), state
}

func (s *groupReplication) label(pairs ...string) metric.Labels {
	key := strings.Join(pairs, "\x00")
	l, ok := s.labels[key]
	if !ok {
		if len(s.labels) > 1000 {
			clear(s.labels)
		}
		l = metric.L(pairs...)
		s.labels[key] = l
	}
	return l
}
