package sources

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// variables reads SHOW GLOBAL VARIABLES, which every account may: mysql_global_variables_<name> for those that are
// numbers or switches, and what mysqld_exporter shows of the texts:
//
//	mysql_version_info{version,version_comment,innodb_version} 1
//	mysql_transaction_isolation{level} 1
//	mysql_galera_variables_info{wsrep_cluster_name} 1, mysql_galera_gcache_size_bytes
//
// A variable that has changed since the reading before is an event; when another server answers at the address, that is
// one.
type variables struct {
	q     querier
	acc   account
	sql   string
	known map[string]series
	last  map[string]string
	infos map[string]info
	news  []event.Event
}

// info is a series whose value is a text in a label.
type info struct {
	text   string
	labels metric.Labels
}

func newVariables(q querier, acc account) *variables {
	return &variables{
		q: q, acc: acc, sql: tagged(source.Variables, "SHOW GLOBAL VARIABLES"),
		known: map[string]series{}, infos: map[string]info{},
	}
}

func (s *variables) Name() source.Name { return source.Variables }

func (s *variables) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	now := make(map[string]string, len(s.last))
	if _, err := s.q.Query(ctx, s.sql, func(row []driver.Value) {
		if len(row) == 2 && len(now) < 5000 && len(text(row[0])) <= longestText {
			// no server has so many, nor such names
			now[string(text(row[0]))] = string(text(row[1]))
		}
	}); err != nil {
		return classify(s.acc, err, "")
	}
	for name, val := range now {
		v, ok := variableValue(val)
		if !ok {
			continue
		}
		k, ok := s.known[name]
		if !ok {
			if len(s.known) > 10_000 {
				clear(s.known)
			}
			k = series{name: metricName("mysql_global_variables_", []byte(name))}
			s.known[name] = k
		}
		emit(metric.Sample{Name: k.name, At: at, Value: v})
	}
	s.texts(now, at, emit)
	if s.last != nil {
		s.news = append(s.news, changes(s.last, now, time.UnixMilli(at).UTC())...)
	}
	s.last = now
	return nil
}

// Events returns the changes since the last call.
func (s *variables) Events() []event.Event {
	e := s.news
	s.news = nil
	return e
}

// texts emits what is told in labels.
func (s *variables) texts(now map[string]string, at int64, emit func(metric.Sample)) {
	show := func(name string, pairs ...string) {
		text := strings.Join(pairs, "\x00")
		x, ok := s.infos[name]
		if !ok || x.text != text {
			for i := range pairs {
				pairs[i] = strings.ToValidUTF8(pairs[i], "?")
			}
			x = info{text, metric.L(pairs...)}
			s.infos[name] = x
		}
		emit(metric.Sample{Name: name, Labels: x.labels, At: at, Value: 1})
	}
	show("mysql_version_info", "version", now["version"], "version_comment", now["version_comment"],
		"innodb_version", now["innodb_version"])
	for _, n := range []string{"transaction_isolation", "tx_isolation"} {
		if level, ok := now[n]; ok {
			show("mysql_transaction_isolation", "level", level)
			break
		}
	}
	if name, ok := now["wsrep_cluster_name"]; ok {
		show("mysql_galera_variables_info", "wsrep_cluster_name", name)
	}
	if size, ok := gcacheSize(now["wsrep_provider_options"]); ok {
		emit(metric.Sample{Name: "mysql_galera_gcache_size_bytes", At: at, Value: size})
	}
}

// variableValue reads a number or a switch.
func variableValue(text string) (v float64, ok bool) {
	if v, ok := parseNumber([]byte(text)); ok {
		return v, true
	}
	switch strings.ToUpper(text) {
	case "ON", "YES", "TRUE":
		return 1, true
	case "OFF", "NO", "FALSE", "DISABLED":
		return 0, true
	}
	return 0, false
}

// gcacheSize finds gcache.size in Galera's "name = value; …", bytes.
func gcacheSize(options string) (bytes float64, ok bool) {
	for o := range strings.SplitSeq(options, ";") {
		name, val, _ := strings.Cut(o, "=")
		if strings.TrimSpace(name) != "gcache.size" {
			continue
		}
		val = strings.TrimSpace(val)
		scale := 1.0
		if val != "" {
			if i := strings.IndexByte("KMGT", val[len(val)-1]&^0x20); i >= 0 {
				val, scale = val[:len(val)-1], float64(uint64(1)<<(10*(i+1)))
			}
		}
		v, err := strconv.ParseUint(val, 10, 53)
		return float64(v) * scale, err == nil
	}
	return 0, false
}

// maxChanges bounds the events of one reading.
const maxChanges = 50

// changes tells how two readings of the variables differ. Two servers are told apart by what a server keeps as long as
// it lives; the differences of their settings are then no news.
func changes(old, now map[string]string, at time.Time) (out []event.Event) {
	if was, is := identity(old), identity(now); was != is {
		return []event.Event{{At: at, Kind: event.Restart, Text: event.AnotherServer + " answers: " + serverWords(now) +
			" instead of " + serverWords(old)}}
	}
	for _, name := range sortedKeys(old, now) {
		a, had := old[name]
		b, has := now[name]
		if a == b && had == has || moves(name) || alias(name, now) {
			continue
		}
		text := fmt.Sprintf("%s %s → %s", name, shown(a), shown(b))
		switch {
		case !had:
			text = fmt.Sprintf("%s is new: %s", name, shown(b))
		case !has:
			text = fmt.Sprintf("%s is gone, it was %s", name, shown(a))
		}
		out = append(out, event.Event{At: at, Kind: event.Config, Text: text})
	}
	if n := len(out) - maxChanges; n > 0 {
		out = append(out[:maxChanges], event.Event{
			At: at, Kind: event.Config,
			Text: fmt.Sprintf("%d more variables changed", n),
		})
	}
	return out
}

// identity is what stays the same as long as it is one server, an upgrade aside. MySQL has a uuid, newer versions of
// MariaDB have server_uid; older ones are told by machine, port and data directory.
func identity(v map[string]string) string {
	if u := v["server_uuid"] + v["server_uid"]; u != "" {
		return u
	}
	return strings.Join([]string{v["hostname"], v["port"], v["datadir"]}, "\x00")
}

func serverWords(v map[string]string) string {
	return shown(v["version"]) + " on " + shown(v["hostname"]) + ":" + shown(v["port"])
}

// moves reports whether a variable changes by itself: positions, clocks and what a client of the server does by
// working.
func moves(name string) bool {
	switch name {
	case "gtid_executed", "gtid_purged", "gtid_owned", "gtid_binlog_pos", "gtid_binlog_state", "gtid_current_pos",
		"gtid_slave_pos", "timestamp", "rand_seed1", "rand_seed2",
		"last_gtid", "insert_id", "last_insert_id", "identity", "pseudo_thread_id", "error_count",
		"warning_count", "tidb_current_ts",
		"binlog_checksum_used", "log_bin_basename_used", "wsrep_start_position", "last_commit_read_ts":
		return true
	}
	return false
}

// alias reports whether a variable is another name of one that is there too.
func alias(name string, all map[string]string) bool {
	other, ok := aliases[name]
	if !ok {
		other = strings.ReplaceAll(strings.ReplaceAll(name, "slave", "replica"), "master", "source")
	}
	v, there := all[other]
	return other != name && there && v == all[name]
}

var aliases = map[string]string{
	"log_slow_query": "slow_query_log", "log_slow_query_file": "slow_query_log_file",
	"log_slow_query_time":             "long_query_time",
	"log_slow_min_examined_row_limit": "min_examined_row_limit", "tx_isolation": "transaction_isolation",
	"tx_read_only":   "transaction_read_only",
	"storage_engine": "default_storage_engine", "log_bin_trust_routine_creators": "log_bin_trust_function_creators",
}

// shown makes a value fit for one line; secrets that stand in variables are not shown.
func shown(v string) string {
	v = strings.ToValidUTF8(v, "?")
	v = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, v)
	if strings.Contains(strings.ToLower(v), "password") {
		return "(not shown)"
	}
	if r := []rune(v); len(r) > 100 {
		v = string(r[:99]) + "…"
	}
	if v == "" {
		return "''"
	}
	return v
}

func sortedKeys[V any](maps ...map[string]V) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
